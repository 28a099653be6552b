package memstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/memstore"
	"snowfence.example/snowfence/store/storetest"
)

// clock is a monotonic clock that moves when the test moves it.
type clock struct{ now time.Duration }

func (c *clock) Wall() time.Time          { return time.Unix(0, 0).Add(c.now) }
func (c *clock) Monotonic() time.Duration { return c.now }
func (c *clock) After(time.Duration) (<-chan time.Time, func() bool) {
	return nil, func() bool { return true }
}

func harness(memory *memstore.Memory) storetest.Harness {
	return storetest.Harness{
		Open: func(context.Context) (store.Store, error) { return memory.Client(), nil },
		Snapshot: func(context.Context) (func(context.Context) error, error) {
			snapshot := memory.Snapshot()
			return func(context.Context) error { memory.Restore(snapshot); return nil }, nil
		},
	}
}

func TestConformance(t *testing.T) {
	t.Run("durable", func(t *testing.T) {
		storetest.Run(t, harness(memstore.New()))
	})
	t.Run("lossy, with a clock", func(t *testing.T) {
		config := memstore.Config{Loss: time.Second, Now: func() time.Time { return time.Unix(1, 0) }}
		storetest.Run(t, harness(memstore.NewWith(config)))
	})
	t.Run("faulty", func(t *testing.T) {
		storetest.RunFaulty(t, harness(memstore.New()))
	})
}

func put(t *testing.T, s store.Store, key string, prev store.Version, value string) store.Version {
	t.Helper()
	version, err := s.Swap(t.Context(), key, prev, []byte(value))
	if err != nil {
		t.Fatalf("swap %q to %q: %v", key, value, err)
	}
	return version
}

// value returns the key's value, and "missing" if it does not exist.
func value(t *testing.T, s store.Store, key string) string {
	t.Helper()
	e, err := s.Get(t.Context(), key)
	if errors.Is(err, store.ErrNotFound) {
		return "missing"
	}
	if err != nil {
		t.Fatalf("get %q: %v", key, err)
	}
	return string(e.Value)
}

func TestFailoverTakesTheYoungestWritesAway(t *testing.T) {
	tests := []struct {
		age  time.Duration
		lost int
		a, b string
	}{
		{0, 0, "a at 3s", "b at 2s"},
		{500 * time.Millisecond, 1, "a at 1s", "b at 2s"},
		{time.Second, 1, "a at 1s", "b at 2s"}, // a write of exactly that age stays
		{1001 * time.Millisecond, 2, "a at 1s", "missing"},
		{2 * time.Second, 2, "a at 1s", "missing"},
		{2001 * time.Millisecond, 3, "a at 0s", "missing"},
		{3 * time.Second, 3, "a at 0s", "missing"},
	}
	for _, test := range tests {
		c := &clock{}
		memory := memstore.NewWith(memstore.Config{Loss: 3 * time.Second, Clock: c})
		s := memory.Client()
		first := put(t, s, "a", "", "a at 0s")
		c.now = time.Second
		second := put(t, s, "a", first, "a at 1s")
		c.now = 2 * time.Second
		put(t, s, "b", "", "b at 2s")
		c.now = 3 * time.Second
		put(t, s, "a", second, "a at 3s")
		lost, err := memory.Failover(test.age)
		if err != nil || lost != test.lost {
			t.Errorf("Failover(%v) = %d, %v, want %d", test.age, lost, err, test.lost)
		}
		if a, b := value(t, s, "a"), value(t, s, "b"); a != test.a || b != test.b {
			t.Errorf("after Failover(%v): %q and %q, want %q and %q", test.age, a, b, test.a, test.b)
		}
	}
}

func TestFailoverTakesNoMoreThanTheDeclaredLoss(t *testing.T) {
	c := &clock{}
	memory := memstore.NewWith(memstore.Config{Loss: time.Second, Clock: c})
	s := memory.Client()
	put(t, s, "a", "", "old")
	c.now = time.Second
	put(t, s, "b", "", "young")
	if _, err := memory.Failover(time.Second + 1); err == nil {
		t.Error("a failover beyond the declared loss is not refused")
	}
	if lost, err := memory.Failover(time.Second); lost != 1 || err != nil {
		t.Errorf("lost %d, %v, want 1", lost, err)
	}
	if a, b := value(t, s, "a"), value(t, s, "b"); a != "old" || b != "missing" {
		t.Errorf("%q and %q", a, b)
	}
	if _, err := memstore.New().Failover(1); err == nil {
		t.Error("a durable memory fails over")
	}
	traits, err := s.Traits(t.Context())
	if err != nil || traits.Durable || traits.Loss != time.Second {
		t.Errorf("traits %v, %v", traits, err)
	}
}

func TestVersionOfALostWriteNeverMatchesAgain(t *testing.T) {
	memory := memstore.NewWith(memstore.Config{Loss: time.Hour})
	s := memory.Client()
	kept := put(t, s, "a", "", "kept")
	lostVersion := put(t, s, "a", kept, "lost")
	if lost, err := memory.Failover(time.Hour); err != nil || lost != 2 {
		t.Fatalf("lost %d, %v", lost, err)
	}
	put(t, s, "a", "", "kept")
	if _, err := s.Swap(t.Context(), "a", lostVersion, nil); !errors.Is(err, store.ErrConflict) {
		t.Errorf("swap under a lost version: %v", err)
	}
	if _, err := s.Swap(t.Context(), "a", kept, nil); !errors.Is(err, store.ErrConflict) {
		t.Errorf("swap under an older lost version: %v", err)
	}
}

func TestRestoreRollsEveryClientBack(t *testing.T) {
	memory := memstore.New()
	one, other := memory.Client(), memory.Client()
	first := put(t, one, "a", "", "first")
	snapshot := memory.Snapshot()
	put(t, one, "a", first, "second")
	put(t, other, "b", "", "made since")
	memory.Restore(snapshot)
	if a, b := value(t, other, "a"), value(t, one, "b"); a != "first" || b != "missing" {
		t.Errorf("%q and %q", a, b)
	}
	// The snapshot can be restored again, whatever was written in between.
	put(t, one, "a", first, "third")
	memory.Restore(snapshot)
	if a := value(t, one, "a"); a != "first" {
		t.Errorf("restored again: %q", a)
	}
	memory.Restore(memstore.Snapshot{})
	if a, n := value(t, one, "a"), memory.Len(); a != "missing" || n != 0 {
		t.Errorf("restored to nothing: %q, %d registers", a, n)
	}
	put(t, one, "a", "", "anew")
}

func TestInjectedRandomnessMakesVersionsReplay(t *testing.T) {
	draw := func() store.Version {
		memory := memstore.NewWith(memstore.Config{Rand: bytes.NewReader(bytes.Repeat([]byte{7}, 16))})
		s := memory.Client()
		version := put(t, s, "a", "", "value")
		if _, err := s.Swap(t.Context(), "a", version, nil); err == nil || errors.Is(err, store.ErrConflict) {
			t.Errorf("a source that has run dry: %v", err)
		}
		if got := value(t, s, "a"); got != "value" {
			t.Errorf("a swap without a version took effect: %q", got)
		}
		return version
	}
	if one, other := draw(), draw(); one != other {
		t.Errorf("%q and %q", one, other)
	}
}

func TestOnlyAMemoryWithAClockOffersOne(t *testing.T) {
	if _, ok := store.ClockOf(memstore.New().Client()); ok {
		t.Error("a memory without a clock offers one")
	}
	now := time.Unix(1_800_000_000, 0)
	s := memstore.NewWith(memstore.Config{Now: func() time.Time { return now }}).Client()
	c, ok := store.ClockOf(s)
	if !ok {
		t.Fatal("no clock")
	}
	if got, err := c.Now(t.Context()); err != nil || !got.Equal(now) {
		t.Errorf("Now = %v, %v", got, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Now(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Now after close: %v", err)
	}
}

func Example() {
	memory := memstore.New()
	one, other := memory.Client(), memory.Client()
	ctx := context.Background()

	version, err := one.Swap(ctx, "greeting", "", []byte("hello"))
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := other.Swap(ctx, "greeting", version, []byte("good day")); err != nil {
		fmt.Println(err)
		return
	}
	// The register has moved on, so the first client's version is stale.
	_, err = one.Swap(ctx, "greeting", version, []byte("hi"))
	fmt.Println(err)
	// Output: store: conflict: the register is at another version
}

func BenchmarkGet(b *testing.B) {
	s := memstore.New().Client()
	if _, err := s.Swap(b.Context(), "key", "", make([]byte, 200)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Get(b.Context(), "key"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSwap(b *testing.B) {
	s := memstore.New().Client()
	var version store.Version
	value := make([]byte, 200)
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if version, err = s.Swap(b.Context(), "key", version, value); err != nil {
			b.Fatal(err)
		}
	}
}
