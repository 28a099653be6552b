package session

import "time"

// in is a deadline in a while. Deadlines go by this machine's clock, even where ids do not.
func in(d time.Duration) time.Time { return time.Now().Add(d) }

// past is a deadline that has passed.
func past() time.Time { return time.Unix(1, 0) }
