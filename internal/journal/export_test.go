package journal

import "snowfence.example/snowfence/internal/disk"

// OpenAt is Open on a file system that a test makes up.
func OpenAt(c Config, at func(string) (disk.System, error)) (*Journal, error) {
	return openAt(c, at)
}
