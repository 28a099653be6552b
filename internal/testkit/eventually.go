package testkit

import (
	"context"
	"testing"
	"time"
)

// Eventually tries f every 20 ms until it returns nil, and fails the test with its
// last error when the limit is over. f gets a context that ends then.
func Eventually(t testing.TB, limit time.Duration, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for {
		err := f(ctx)
		if err == nil {
			return
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			t.Fatalf("not within %s: %v", limit, err)
		}
	}
}
