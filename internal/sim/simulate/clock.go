package main

import "time"

// stopwatch returns a function that tells how long ago it was made.
func stopwatch() func() time.Duration {
	begun := time.Now()
	return func() time.Duration { return time.Since(begun) }
}
