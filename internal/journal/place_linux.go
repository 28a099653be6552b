package journal

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"snowfence.example/snowfence/internal/folder"
)

// thisPlace returns the machine of this process. The kernel draws a new boot id at each
// start of the machine; see random(4). The machine id is drawn when a system is installed;
// see machine-id(5).
func thisPlace(acrossReboots bool) (folder.Place, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return folder.Place{}, fmt.Errorf("read the boot id: %w", err)
	}
	machine, err := os.ReadFile("/etc/machine-id")
	if err != nil && acrossReboots {
		return folder.Place{}, fmt.Errorf("read the machine id, which AcrossReboots needs: %w", err)
	}
	here := folder.Place{Boot: strings.TrimSpace(string(boot)), Machine: strings.TrimSpace(string(machine))}
	return here, here.Check(acrossReboots)
}

func device(stat *syscall.Stat_t) uint64 {
	return uint64(stat.Dev) //nolint:unconvert // it has 32 bits on some machines
}

// changed is the file system's own time of a file's last change.
func changed(stat *syscall.Stat_t) time.Time {
	return time.Unix(stat.Ctim.Unix()).UTC()
}
