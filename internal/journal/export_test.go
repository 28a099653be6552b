//go:build linux || darwin

package journal

import (
	"os"

	"snowfence.example/snowfence/internal/localdisk"
)

// OpenAt is Open on a file system that a test makes up.
func OpenAt(c Config, at func(string) (localdisk.System, error)) (*Journal, error) {
	return openAt(c, at)
}

// unlocked is a folder whose lock keeps no one out, as flock does not where each host has
// its own.
type unlocked struct{ *osDisk }

func (d unlocked) Lock() (err error) {
	d.held, err = d.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, fileMode)
	return err
}

// OpenUnlocked opens a journal without its lock.
func OpenUnlocked(dir string) (*Journal, error) {
	here, err := thisPlace(false)
	if err != nil {
		return nil, err
	}
	d, err := openDisk(dir)
	if err != nil {
		return nil, err
	}
	return OpenOn(unlocked{d.(*osDisk)}, dir, here, false)
}
