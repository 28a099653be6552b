//go:build darwin || freebsd || dragonfly || openbsd

package localdisk

// mntLocal is MNT_LOCAL of these systems' sys/mount.h: the file system is stored on
// this machine.
const mntLocal = 0x1000

// classify tells a file system by its type's name, which ends at the first zero byte,
// and the flags of its mount.
func classify(typeName []int8, flags uint64) System {
	var name []byte
	for _, b := range typeName {
		if b == 0 {
			break
		}
		name = append(name, byte(b))
	}
	s := System{Name: string(name), Network: flags&mntLocal == 0}
	if s.Name == "tmpfs" || s.Name == "mfs" {
		s.Forgets = "at a reboot"
	}
	return s
}
