//go:build !unix

package systemd

import "time"

// monotonic is zero, as there is no service manager that asks.
func monotonic() time.Duration { return 0 }
