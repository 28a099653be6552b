package disk

import (
	"fmt"
	"os"
	"path/filepath"
)

// System is a file system, as far as it matters to programs that lock a folder and rely
// on fsync and rename. On a network file system a lock may hold on one host alone, and an
// fsync may end in a server's memory. Behind FUSE, and the 9p and virtiofs that sandboxes and light virtual
// machines (gVisor, Kata) show to a container, a program or another machine decides the meaning of these
// calls. So Linux accepts the file systems in a list of local ones, and macOS accepts the file systems
// with the flag MNT_LOCAL. All others are refused.
type System struct {
	// Name is its usual name.
	Name string

	// Network is true if other machines can change its files, or might.
	Network bool

	// Forgets is when it forgets everything, as in "at a reboot". It is empty for
	// one that does not.
	Forgets string
}

// Refusal returns why nothing that has to last or to be locked may be on a network
// file system. It is empty for any other.
func (s System) Refusal() string {
	if !s.Network {
		return ""
	}
	return s.Name + "; it needs a local disk"
}

// Warning names the loss on a file system that forgets, and its time. It is empty
// for any other.
func (s System) Warning() string {
	if s.Forgets == "" {
		return ""
	}
	return fmt.Sprintf("%s forgets everything %s", s.Name, s.Forgets)
}

// SystemAt returns the file system of a path, or of the nearest folder above it that
// exists. The error is errors.ErrUnsupported where that can't be known.
func SystemAt(path string) (System, error) {
	for {
		parent := filepath.Dir(path)
		if _, err := os.Stat(path); err == nil || parent == path {
			return systemOf(path)
		}
		path = parent
	}
}
