package filestore

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence/internal/disk/modeldisk"
	"snowfence.example/snowfence/store"
)

// prepared returns a store on a model disk, with testKey at "A", and its process.
func prepared(t *testing.T) (*Store, *modeldisk.Process, store.Version) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	p := modeldisk.New(rng.IntN).Process()
	s, err := openOn(t.Context(), p, "/model", Config{Rand: source{rng}})
	if err != nil {
		t.Fatal(err)
	}
	version, err := s.Swap(t.Context(), testKey, "", []byte("A"))
	if err != nil {
		t.Fatal(err)
	}
	return s, p, version
}

// failAt lets the nth step from now fail, and returns the names of the steps that are made.
func failAt(p *modeldisk.Process, n int, fault modeldisk.Fault) (steps func() []string) {
	var made []string
	p.Before = func(step string) modeldisk.Fault {
		made = append(made, step)
		if len(made) == n {
			return fault
		}
		return modeldisk.Fault{}
	}
	return func() []string { return made }
}

// TestFailureAtAnyStepIsNeverTakenForSuccessOrConflict lets each step of a swap fail, while the process lives.
func TestFailureAtAnyStepIsNeverTakenForSuccessOrConflict(t *testing.T) {
	for fail := 1; ; fail++ {
		s, p, version := prepared(t)
		steps := failAt(p, fail, modeldisk.Fault{Err: errDisk})
		acknowledged, err := s.Swap(t.Context(), testKey, version, []byte("B"))
		if len(steps()) < fail {
			if err != nil {
				t.Fatalf("without a failure: %v", err)
			}
			return
		}
		step := steps()[fail-1]
		// Once the swap is durable its writer acknowledges it.
		if err == nil && acknowledged == "" || err != nil && !errors.Is(err, errDisk) {
			t.Fatalf("step %d (%s) failed: version %q, error %v", fail, step, acknowledged, err)
		}
		e, err := s.Get(t.Context(), testKey)
		if step != "sync file" && step != "sync folder" {
			if err != nil {
				t.Fatalf("get after a failed %s: %v", step, err)
			}
			if _, err := s.Swap(t.Context(), testKey, e.Version, []byte("C")); err != nil {
				t.Fatalf("swap after a failed %s: %v", step, err)
			}
			continue
		}
		// The sticky error, for every verb.
		_, swapErr := s.Swap(t.Context(), testKey, version, nil)
		_, traitsErr := s.Traits(t.Context())
		var listErr error
		for _, listErr = range s.List(t.Context(), "") {
		}
		for _, err := range []error{err, swapErr, traitsErr, listErr} {
			if !errors.Is(err, ErrFailed) || !errors.Is(err, errDisk) {
				t.Errorf("after a failed %s: %v, want ErrFailed and its cause", step, err)
			}
		}
	}
}

func TestFullDiskIsAnErrorAndNothingMore(t *testing.T) {
	for fail := 1; ; fail++ {
		s, p, version := prepared(t)
		steps := failAt(p, fail, modeldisk.Fault{Err: syscall.ENOSPC})
		_, err := s.Swap(t.Context(), testKey, version, []byte("too much"))
		if len(steps()) < fail {
			return
		}
		step := steps()[fail-1]
		if step != "create" && step != "write" && step != "rename" {
			continue
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("%s on a full disk: %v", step, err)
		}
		if e, err := s.Get(t.Context(), testKey); err != nil || string(e.Value) != "A" {
			t.Fatalf("after %s on a full disk: %q, %v", step, e.Value, err)
		}
		// Somebody has made room.
		if _, err := s.Swap(t.Context(), testKey, version, []byte("fits")); err != nil {
			t.Fatalf("swap once there is room: %v", err)
		}
	}
}

// TestDiskThatHangsHoldsABoundedNumberOfCalls lets a disk hang at once: each call that has begun keeps a thread.
func TestDiskThatHangsHoldsABoundedNumberOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p, version := prepared(t)
		var held atomic.Int64
		hang := make(chan struct{})
		p.Before = func(string) modeldisk.Fault {
			held.Add(1)
			<-hang
			return modeldisk.Fault{}
		}
		var calls sync.WaitGroup
		for range 300 {
			calls.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := s.Get(ctx, testKey); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v, want context.DeadlineExceeded", err)
				}
			})
		}
		calls.Wait()
		if held := held.Load(); held != mostCalls {
			t.Errorf("the disk holds %d calls, want %d", held, mostCalls)
		}
		close(hang)
		synctest.Wait()
		p.Before = nil
		if _, err := s.Swap(t.Context(), testKey, version, []byte("B")); err != nil {
			t.Errorf("swap on the disk that works again: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestContextEndsASwapThatTheDiskHoldsUp lets the disk hang in a swap: its caller is let go,
// its outcome stays open, and other callers are not held up by it.
func TestContextEndsASwapThatTheDiskHoldsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p, version := prepared(t)
		hang, hung := make(chan struct{}), false
		p.Before = func(step string) modeldisk.Fault {
			if step == "rename" && !hung {
				hung = true
				<-hang
			}
			return modeldisk.Fault{}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Swap(ctx, testKey, version, []byte("B")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want context.DeadlineExceeded", err)
		}
		synctest.Wait()
		if e, err := s.Get(t.Context(), testKey); err != nil || string(e.Value) != "A" {
			t.Errorf("%q, %v", e.Value, err)
		}
		close(hang)
		synctest.Wait()
		if e, err := s.Get(t.Context(), testKey); err != nil || string(e.Value) != "B" {
			t.Errorf("%q, %v: the swap went on, and took effect", e.Value, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
