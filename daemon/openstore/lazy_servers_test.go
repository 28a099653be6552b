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
	s := lazyAt(t, "redis://"+server.Addr(), func(store.Store) { told++ })
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
		t.Errorf("its clock shows %s, %v; it was reported %d times", now, err, told)
	}
}

func TestShortCallsOpenASlowStore(t *testing.T) {
	server := testkit.Redis(t)
	proxy := testkit.NewProxy(t, server.Addr())
	proxy.Delay(0, 300*time.Millisecond)
	s := lazyAt(t, "redis://"+proxy.Addr(), nil)
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
