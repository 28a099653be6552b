package redisstore

import "time"

// since is the time that has passed since begun, on the monotonic clock. It
// decides when a store's grace is over, and nothing else.
func since(begun time.Time) time.Duration { return time.Since(begun) }

// now is the time that since counts from.
func now() time.Time { return time.Now() }
