package lineartest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
)

// A Harness opens a store, and lists the faults and the load of a run.
type Harness struct {
	// Open opens another client of the store under test, to be closed at the end. Required.
	Open func(context.Context) (store.Store, error)

	Rates        faultstore.Rates // of the faults between every client and its callers; may be zero
	Disturbances []Disturbance    // one after the other, at even distances over the run, while the clients go on

	// Seed decides the calls, their keys and guards, and the faults of Rates. It does not decide the
	// scheduler's order.
	Seed uint64

	// Timeout is how long the run may take, and then again the verdict on its
	// history. Zero means 30 seconds.
	Timeout time.Duration
}

const (
	clients     = 3               // that work on the store
	goroutines  = 2               // on each client
	keys        = 3               // registers that they swap
	swaps       = 60              // of each goroutine; a checker's work grows with the swaps on one key
	callTimeout = 2 * time.Second // how long one call may take
)

// A Disturbance is something that happens to the store while it is in use: a
// server is killed and started again, a proxy resets all connections. No acknowledged write may get lost in it.
type Disturbance struct {
	Name string                      // for messages
	Do   func(context.Context) error // makes it happen and returns when it is over; its error fails the run
}

// Run makes a history and fails the test if it is not sound, or can't be judged in time.
func Run(t *testing.T, h Harness) {
	t.Helper()
	if err := Check(t.Context(), h); err != nil {
		t.Error(err)
	}
}

// Check is Run that returns an error.
func Check(ctx context.Context, h Harness) error {
	if h.Timeout <= 0 {
		h.Timeout = 30 * time.Second
	}
	made, err := h.record(ctx)
	if err != nil {
		err = fmt.Errorf("make a history (seed %d): %w", h.Seed, err)
	}
	// The beginning of a history that came to a halt may show the reason.
	unsound := made.check(h.Timeout)
	if unsound != nil {
		unsound = fmt.Errorf("the store is not linearizable (seed %d): %w", h.Seed, unsound)
	}
	return errors.Join(err, unsound)
}
