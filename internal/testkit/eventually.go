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
	if err := retry(t.Context(), limit, nil, f); err != nil {
		t.Fatalf("not within %s: %v", limit, err)
	}
}

// retry tries f every 20 ms until it returns nil. It returns its last error when the
// limit is over, the context has ended or stop is closed.
func retry(ctx context.Context, limit time.Duration, stop <-chan struct{}, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for {
		err := f(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-pause.C:
		case <-stop:
			return err
		case <-ctx.Done():
			return err
		}
	}
}
