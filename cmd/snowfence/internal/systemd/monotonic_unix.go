//go:build unix

package systemd

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic is the time of the system's monotonic clock, by which the service manager goes.
func monotonic() time.Duration {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // every system has it
	return time.Duration(now.Nano())
}
