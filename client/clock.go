package client

import "time"

// now is the time, with its monotonic part: waits do not follow steps of the wall clock.
func now() time.Time { return time.Now() }

// after calls f after d, unless it is stopped.
func after(d time.Duration, f func()) (stop func() bool) { return time.AfterFunc(d, f).Stop }
