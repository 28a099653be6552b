package openstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/storetest"
)

func TestLazyStoreKeepsEveryRule(t *testing.T) {
	url := "file:" + t.TempDir()
	storetest.Run(t, storetest.Harness{Open: func(context.Context) (store.Store, error) { return Lazy(url, false, nil) }})
}

func TestLazyStoreHasTheNameAndTheClockOfItsEngine(t *testing.T) {
	for _, name := range testkit.EngineNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := shared(t, name).URL("", sharedLoss)
			s, l := at(t, url), lazyAt(t, url, nil)
			_, want := store.ClockOf(s)
			if _, has := store.ClockOf(l); has != want {
				t.Errorf("it has a clock: %t, want %t", has, want)
			}
			if got, want := store.NameOf(l), store.NameOf(s); got != want || want == "" {
				t.Errorf("its name is %q, want %q", got, want)
			}
		})
	}
}

func TestLazyStoreRefusesAURLAtOnceAndOpensNothingAfterClose(t *testing.T) {
	var refused *URLError
	if _, err := Lazy("etcd://", false, nil); !errors.As(err, &refused) {
		t.Errorf("error is %v", err)
	}
	dir := filepath.Join(t.TempDir(), "store")
	s := lazyAt(t, "file:"+dir, nil)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Get(t.Context(), "key"); !errors.Is(err, store.ErrClosed) {
		t.Errorf("error is %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("it was opened after Close")
	}
}

// Package storeclient holds that there is one attempt at a time, which outlives a short call.
func TestAttemptToOpenEndsInTimeOrWithItsStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("refused")
		l := newLazy(func(ctx context.Context) (store.Store, error) {
			<-ctx.Done()
			return nil, refused
		})
		begun := time.Now()
		if _, err := l.Get(t.Context(), "key"); !errors.Is(err, refused) || time.Since(begun) != openLimit {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		waiting := make(chan error, 1)
		go func() { _, err := l.Get(t.Context(), "key"); waiting <- err }()
		synctest.Wait()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := <-waiting; !errors.Is(err, store.ErrClosed) {
			t.Errorf("a call that waits at the end: %v", err)
		}
		synctest.Wait() // the attempt has ended, or the bubble's end finds it
	})
}
