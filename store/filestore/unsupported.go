//go:build !(linux || darwin || freebsd || dragonfly || openbsd)

package filestore

import "os"

// Without flock, or without a way to tell a network file system, the store
// can't keep its promises: it does not open.

func fileSystemAt(string) (fileSystem, error) { return fileSystem{}, ErrUnsupported }
func tryFlock(*os.File) (bool, error)         { return false, ErrUnsupported }
func unflock(*os.File) error                  { return ErrUnsupported }
