package testkit

import (
	"context"
	"testing"
	"time"
)

// Hang is for how long tests wait for an event. Only a hang takes so long: a busy machine does not.
const Hang = 3 * time.Minute

// Eventually tries f every 20 ms until it returns nil, and fails the test with its
// last error after [Hang]. f gets a context that ends then.
func Eventually(t testing.TB, f func(context.Context) error) {
	t.Helper()
	if err := retry(t.Context(), nil, f); err != nil {
		t.Fatalf("not within %s: %v", Hang, err)
	}
}

// retry tries f every 20 ms until it returns nil. It returns its last error after
// [Hang], or when the context has ended or stop is closed.
func retry(ctx context.Context, stop <-chan struct{}, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, Hang)
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
