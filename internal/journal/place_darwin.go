package journal

import (
	"fmt"
	"syscall"
	"time"

	"snowfence.example/snowfence/internal/folder"
)

// thisPlace returns the machine of this process. The kernel draws a new
// kern.bootsessionuuid at each start.
func thisPlace(acrossReboots bool) (folder.Place, error) {
	boot, err := syscall.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return folder.Place{}, fmt.Errorf("read kern.bootsessionuuid: %w", err)
	}
	machine, err := syscall.Sysctl("kern.uuid")
	if err != nil && acrossReboots {
		return folder.Place{}, fmt.Errorf("read kern.uuid, which AcrossReboots needs: %w", err)
	}
	here := folder.Place{Boot: boot, Machine: machine}
	return here, here.Check(acrossReboots)
}

func device(stat *syscall.Stat_t) uint64 { return uint64(stat.Dev) }

// changed is the file system's own time of a file's last change.
func changed(stat *syscall.Stat_t) time.Time {
	return time.Unix(stat.Ctimespec.Unix()).UTC()
}
