package fence

import "time"

// Start reads the clock in the one file that may, and sleeps, which none may.
func Start() time.Time {
	time.Sleep(time.Second) // want "forbidigo: time.Sleep"
	return time.Now()
}
