package journal

import (
	"snowfence.example/snowfence/internal/disk"
)

// OpenAt is Open on a file system that a test makes up.
func OpenAt(c Config, at func(string) (disk.System, error)) (*Journal, error) {
	return openAt(c, at)
}

// OpenUnlocked opens a journal without its lock.
func OpenUnlocked(dir string) (*Journal, error) {
	here, err := thisPlace()
	if err != nil {
		return nil, err
	}
	d, err := disk.Open(dir, true)
	if err != nil {
		return nil, err
	}
	return OpenOn(lying{d, lies{unlocked: true}, new(int)}, dir, here)
}
