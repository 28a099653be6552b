//go:build servers

package openstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
)

func TestLazyStoreIsOpenedWhenItCanBe(t *testing.T) {
	server := testkit.Redis(t)
	server.Kill()
	told := 0
	s, err := Lazy("redis://"+server.Addr(), false, func(store.Store) { told++ })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if _, err := s.Get(t.Context(), "key"); err == nil || errors.Is(err, store.ErrNotFound) {
		t.Errorf("without its server: %v", err)
	}
	if _, err := s.Swap(t.Context(), "key", "", nil); err == nil || errors.Is(err, store.ErrConflict) {
		t.Errorf("without its server: %v", err)
	}
	clock, ok := store.ClockOf(s)
	if !ok {
		t.Fatal("its clock is not known before it is open")
	}
	if _, err := clock.Now(t.Context()); err == nil {
		t.Error("its clock shows a time without its server")
	}
	server.Start()
	if _, err := s.Get(t.Context(), "key"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("with its server: %v", err)
	}
	if now, err := clock.Now(t.Context()); err != nil || time.Since(now).Abs() > time.Hour || told != 1 {
		t.Errorf("its clock shows %s, %v; it was told of %d times", now, err, told)
	}
}

func TestLazyStoreThatIsClosedOpensNoLonger(t *testing.T) {
	server := testkit.Redis(t)
	server.Pause()
	defer server.Resume()
	s, err := Lazy("redis://"+server.Addr(), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	calls := make(chan error)
	for range 2 { // one opens, and one waits for it
		go func() {
			_, err := s.Get(context.Background(), "key")
			calls <- err
		}()
	}
	begun := time.NewTimer(100 * time.Millisecond)
	<-begun.C
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	late := time.NewTimer(2 * time.Second)
	defer late.Stop()
	for range 2 {
		select {
		case err := <-calls:
			if !errors.Is(err, store.ErrClosed) {
				t.Errorf("error is %v", err)
			}
		case <-late.C:
			t.Fatal("a call still waits")
		}
	}
}

func TestShortCallsOpenASlowStore(t *testing.T) {
	server := testkit.Redis(t)
	proxy := testkit.NewProxy(t, server.Addr())
	proxy.Delay(0, 300*time.Millisecond)
	s, err := Lazy("redis://"+proxy.Addr(), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	testkit.Eventually(t, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		_, err := s.Get(ctx, "key")
		if s.(*clockedLazy).Unwrap() != nil {
			return nil
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("error is %v", err)
		}
		return err
	})
	proxy.Heal()
	if _, err := s.Get(t.Context(), "key"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
}

// The calls are as short as those of a pinned worker with a window of 5 seconds.
func TestLazyStoreOpensWithoutAMemberThatIsAway(t *testing.T) {
	for _, name := range []string{"etcd", "zookeeper"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := testkit.StartEngine(t, name)
			silent := testkit.NewProxy(t, e.Server.Addr())
			silent.Drop()
			s, err := Lazy(e.URL(silent.Addr()+","+e.Server.Addr(), 0), false, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			testkit.Eventually(t, func(ctx context.Context) error {
				ctx, cancel := context.WithTimeout(ctx, 5*time.Second/6)
				defer cancel()
				if _, err := s.Get(ctx, "key"); !errors.Is(err, store.ErrNotFound) {
					return err
				}
				return nil
			})
		})
	}
}
