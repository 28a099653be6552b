//go:build darwin || freebsd || dragonfly || openbsd

package localdisk

// typeName returns a name that ends at its first zero byte.
func typeName(c []int8) string {
	var name []byte
	for _, b := range c {
		if b == 0 {
			break
		}
		name = append(name, byte(b))
	}
	return string(name)
}

// memory says when a file system in memory forgets everything.
func memory(name string) string {
	if name == "tmpfs" || name == "mfs" {
		return "at a reboot"
	}
	return ""
}
