package filestore

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence/store"
)

func TestWaitForTheLockEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	holder, waiter := open(t, dir), open(t, dir)
	version := swap(t, holder, "key", "", "before")
	if err := holder.acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	clock := &countingClock{limit: 10, reached: cancel}
	waiter.clock = clock
	if _, err := waiter.Swap(ctx, "key", version, []byte("too late")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	// It waits longer and longer instead of spinning.
	ms := time.Millisecond
	if want := []time.Duration{ms, 2 * ms, 4 * ms, 8 * ms, 16 * ms, 16 * ms}; len(clock.waits) < 10 || !slices.Equal(clock.waits[:6], want) {
		t.Errorf("waits %v, want %v and so on", clock.waits, want)
	}
	holder.release()
	if e, err := holder.Get(t.Context(), "key"); err != nil || e.Version != version {
		t.Errorf("a swap that was given up took effect: %q, %v", e.Value, err)
	}
	waiter.clock = &countingClock{}
	swap(t, waiter, "key", version, "after")
}

func TestCloseEndsTheWaitForTheLock(t *testing.T) {
	dir := t.TempDir()
	holder := open(t, dir)
	waiter, err := Open(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	waiter.clock = &countingClock{limit: 5, reached: func() { go func() { closed <- waiter.Close() }() }}
	if _, err := waiter.Swap(t.Context(), "key", "", nil); !errors.Is(err, store.ErrClosed) {
		t.Errorf("error %v, want ErrClosed", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("close: %v", err)
	}
	holder.release()
}

// TestContextEndsASwapThatTheDiskHoldsUp lets the disk hang in a swap: its
// caller is let go, its outcome stays open, and the lock stays with it.
func TestContextEndsASwapThatTheDiskHoldsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		p := &process{machine: m}
		hung := &hangingDisk{disk: p, hang: make(chan struct{})}
		s, err := openOn(t.Context(), hung, "/simulated", Config{})
		if err != nil {
			t.Fatal(err)
		}
		hung.armed = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Swap(ctx, "key", "", []byte("value")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want context.DeadlineExceeded", err)
		}
		// The next caller waits for its turn, and no longer than it wants.
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Swap(ctx, "key", "", []byte("another")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want context.DeadlineExceeded", err)
		}
		close(hung.hang)
		synctest.Wait()
		if e, err := s.Get(t.Context(), "key"); err != nil || string(e.Value) != "value" {
			t.Errorf("%q, %v: the swap went on, and took effect", e.Value, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// hangingDisk is a disk whose renames hang.
type hangingDisk struct {
	disk
	armed bool
	hang  chan struct{}
}

func (d *hangingDisk) rename(from, to string) error {
	if d.armed {
		<-d.hang
	}
	return d.disk.rename(from, to)
}
