package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/storetest"
)

func TestLazyStoreKeepsEveryRule(t *testing.T) {
	url := "file:" + t.TempDir()
	storetest.Run(t, storetest.Harness{Open: func(context.Context) (store.Store, error) { return Lazy(url, nil) }})
}

func TestLazyStoreIsOpenedWhenItCanBe(t *testing.T) {
	server := testkit.Redis(t)
	server.Kill()
	told := 0
	s, err := Lazy("redis://"+server.Addr(), func(store.Store) { told++ })
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

func TestLazyStoreHasAClockIfItsEngineHas(t *testing.T) {
	for _, name := range testkit.EngineNames() {
		t.Run(name, func(t *testing.T) {
			url := testkit.StartEngine(t, name).URL("", time.Second)
			s, err := Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			l, err := Lazy(url, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = l.Close() }()
			_, want := store.ClockOf(s)
			if _, has := store.ClockOf(l); has != want {
				t.Errorf("it has a clock: %t, want %t", has, want)
			}
		})
	}
}

func TestLazyStoreRefusesAURLAtOnceAndOpensNothingAfterClose(t *testing.T) {
	var refused *URLError
	if _, err := Lazy("etcd://", nil); !errors.As(err, &refused) {
		t.Errorf("error is %v", err)
	}
	dir := filepath.Join(t.TempDir(), "store")
	s, err := Lazy("file:"+dir, nil)
	if err != nil {
		t.Fatal(err)
	}
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

func TestLazyStoreThatIsClosedOpensNoLonger(t *testing.T) {
	server := testkit.Redis(t)
	server.Pause()
	defer server.Resume()
	s, err := Lazy("redis://"+server.Addr(), nil)
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
