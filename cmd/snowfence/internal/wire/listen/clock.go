package listen

import "time"

// in is a deadline in a while. Deadlines go by this machine's clock, even where ids do not.
func in(d time.Duration) time.Time { return time.Now().Add(d) }
