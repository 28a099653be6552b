package journal

import (
	"errors"

	"snowfence.example/snowfence/internal/disk"
)

// Place is the machine that a journal is on.
type Place struct {
	// Boot is a random number of this run of its operating system.
	Boot string `json:"boot"`
	// Machine is in entries of earlier versions. Nothing depends on it.
	Machine string `json:"machine,omitempty"`
}

// Check returns an error if the machine can't be distinguished from others.
func (p Place) Check() error {
	if p.Boot == "" {
		return errors.New("the boot id is empty")
	}
	return nil
}

// untouched reports whether two stamps are of one file that was not touched between
// them.
func untouched(a, b disk.Stamp) bool {
	return a.Inode == b.Inode && a.Changed.Equal(b.Changed) && a.Device == b.Device
}
