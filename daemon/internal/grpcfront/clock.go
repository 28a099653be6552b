package grpcfront

import "time"

// afterwards calls f in a while. Timeouts go by this machine's clock, even where ids do not.
func afterwards(d time.Duration, f func()) *time.Timer { return time.AfterFunc(d, f) }

// now is by the same clock.
func now() time.Time { return time.Now() }
