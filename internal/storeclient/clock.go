package storeclient

import (
	"context"
	"time"
)

// brief returns a context of at most limit, which leaves ctx half of its time.
func brief(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)/2)
	}
	return context.WithTimeout(ctx, limit)
}

// Now is the time that Since counts from.
func Now() time.Time { return time.Now() }

// Since is the time that has passed since begun, on the monotonic clock.
func Since(begun time.Time) time.Duration { return time.Since(begun) }

// after calls f when the pause is over.
func after(pause time.Duration, f func()) { time.AfterFunc(pause, f) }
