package journal

import (
	"fmt"
	"syscall"
)

// thisPlace returns the machine that this process runs on. The kernel draws
// kern.bootsessionuuid anew at each start.
func thisPlace(acrossReboots bool) (Place, error) {
	boot, err := syscall.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return Place{}, fmt.Errorf("read kern.bootsessionuuid: %w", err)
	}
	machine, err := syscall.Sysctl("kern.uuid")
	if err != nil && acrossReboots {
		return Place{}, fmt.Errorf("read kern.uuid, without which no restart of the machine is survived: %w", err)
	}
	here := Place{Boot: boot, Machine: machine}
	return here, here.Check(acrossReboots)
}
