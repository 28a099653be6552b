//go:build !(linux || darwin)

package journal

import "snowfence.example/snowfence/internal/folder"

// The journal needs flock, a number of this run of the operating system, and a file's time
// of change. Without them it can't keep its promises, and does not open.

func openDisk(string) (folder.Disk, error) { return nil, ErrUnsupported }
func thisPlace(bool) (folder.Place, error) { return folder.Place{}, ErrUnsupported }
