//go:build !(linux || darwin)

package journal

import "snowfence.example/snowfence/internal/folder"

// Without flock, a number of this run of the operating system, and the time at
// which the file system saw a file change, the journal can't keep its promises:
// it does not open.

func openDisk(string) (folder.Disk, error) { return nil, ErrUnsupported }
func thisPlace(bool) (folder.Place, error) { return folder.Place{}, ErrUnsupported }
