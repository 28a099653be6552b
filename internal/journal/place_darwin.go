package journal

import (
	"fmt"
	"syscall"
)

// thisPlace returns the machine that this process runs on. The kernel draws
// kern.bootsessionuuid anew at each start.
func thisPlace() (Place, error) {
	boot, err := syscall.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return Place{}, fmt.Errorf("read kern.bootsessionuuid: %w", err)
	}
	here := Place{Boot: boot}
	return here, here.Check()
}
