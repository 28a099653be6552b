package journal

import (
	"fmt"
	"os"
	"strings"
)

// thisPlace returns the machine that this process runs on. The kernel draws a
// new boot id at each start of the machine; see random(4).
func thisPlace() (Place, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Place{}, fmt.Errorf("read the boot id: %w", err)
	}
	here := Place{Boot: strings.TrimSpace(string(boot))}
	return here, here.Check()
}
