package disk

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// System is a file system, as far as it matters to programs that lock a folder and rely
// on fsync and rename. On a network file system a lock may hold on one host alone, and an
// fsync may end in a server's memory. So one is refused by its name, and so is every one behind which a
// program or another machine decides the meaning of these calls: FUSE, and the 9p and virtiofs that
// sandboxes and light virtual machines (gVisor, Kata) show to a container.
type System struct {
	// Name is its usual name.
	Name string

	// Network is true if other machines can change its files, or might.
	Network bool

	// Forgets says when it forgets everything, as in "at a reboot". It is empty for
	// one that does not.
	Forgets string
}

// Refusal says why nothing that has to last or to be locked may be on a network
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

// mountType returns the type of the file system on a device ("8:1") from the
// text of Linux's /proc/self/mountinfo, and "" if it is not in there. A line
// reads, after proc(5):
//
//	36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw
//
// with any number of optional fields before the dash.
func mountType(mounts []byte, device string) string {
	for line := range strings.Lines(string(mounts)) {
		before, after, ok := strings.Cut(line, " - ")
		if !ok {
			continue
		}
		ids, system := strings.Fields(before), strings.Fields(after)
		if len(ids) > 2 && ids[2] == device && len(system) > 0 {
			return system[0]
		}
	}
	return ""
}
