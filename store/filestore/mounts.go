package filestore

import "strings"

// fileSystem is what the store needs to know of one.
type fileSystem struct {
	name    string
	network bool // other machines can change its files, or might
	memory  bool // it forgets everything at a reboot
}

// check returns a *FileError if no store can be at path on this file system.
func (f fileSystem) check(path string) error {
	if !f.network {
		return nil
	}
	return &FileError{Path: path, Err: ErrNetwork,
		Detail: f.name + "; the file store needs a local disk, and several hosts need another engine"}
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
