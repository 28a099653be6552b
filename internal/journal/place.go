package journal

import (
	"errors"

	"snowfence.example/snowfence/internal/disk"
)

// Place is the machine that a journal is on.
type Place struct {
	// Boot is a random number of this run of its operating system.
	Boot string `json:"boot"`
	// Machine is a number of the machine; empty where it is unknown.
	Machine string `json:"machine"`
}

// Check returns an error if the machine can't be told from others.
func (p Place) Check(acrossReboots bool) error {
	switch {
	case p.Boot == "":
		return errors.New("the boot id is empty")
	case p.Machine == "" && acrossReboots:
		return errors.New("the machine id is empty")
	}
	return nil
}

// untouched reports whether two stamps are of one file that was not touched between
// them. Devices can have other numbers after a restart of the machine.
func untouched(a, b disk.Stamp, sameBoot bool) bool {
	return a.Inode == b.Inode && a.Changed.Equal(b.Changed) && (a.Device == b.Device || !sameBoot)
}
