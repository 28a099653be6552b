package listen

import "time"

// in is a deadline in a while. Deadlines go by this machine's clock, even where ids do not.
func in(d time.Duration) time.Time { return time.Now().Add(d) }

// after returns a timer that has so long to go.
func after(d time.Duration) *time.Timer { return time.NewTimer(d) }
