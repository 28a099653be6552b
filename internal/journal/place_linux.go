package journal

import (
	"fmt"
	"os"
	"strings"
)

// thisPlace returns the machine that this process runs on. The boot id is drawn
// anew by the kernel at each start of the machine; see random(4). The machine
// id is drawn when a system is installed; see machine-id(5).
func thisPlace(acrossReboots bool) (Place, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Place{}, fmt.Errorf("read the boot id: %w", err)
	}
	machine, err := os.ReadFile("/etc/machine-id")
	if err != nil && acrossReboots {
		return Place{}, fmt.Errorf("read the machine id, without which no restart of the machine is survived: %w", err)
	}
	here := Place{Boot: strings.TrimSpace(string(boot)), Machine: strings.TrimSpace(string(machine))}
	return here, here.Check(acrossReboots)
}
