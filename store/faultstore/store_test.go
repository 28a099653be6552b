package faultstore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

// value returns the value of key in s, and "missing" if it shows nothing.
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

func swap(t *testing.T, s store.Store, key string, prev store.Version, value string) store.Version {
	t.Helper()
	version, err := s.Swap(t.Context(), key, prev, []byte(value))
	if err != nil {
		t.Fatalf("swap %q to %q: %v", key, value, err)
	}
	return version
}

func TestFailureBeforeNeverReachesTheStore(t *testing.T) {
	plain := memstore.New().Client()
	s := faultstore.New(plain, faultstore.Always(faultstore.Fault{Before: true}), nil)
	if _, err := s.Swap(t.Context(), "a", "", nil); !errors.Is(err, faultstore.ErrInjected) {
		t.Errorf("swap: %v", err)
	}
	if got := value(t, plain, "a"); got != "missing" {
		t.Errorf("the store holds %q", got)
	}
	if _, err := s.Get(t.Context(), "a"); !errors.Is(err, faultstore.ErrInjected) {
		t.Errorf("get: %v", err)
	}
	if _, err := s.Traits(t.Context()); !errors.Is(err, faultstore.ErrInjected) {
		t.Errorf("traits: %v", err)
	}
	for _, err := range s.List(t.Context(), "") {
		if !errors.Is(err, faultstore.ErrInjected) {
			t.Errorf("list: %v", err)
		}
	}
}

func TestLostReplyHidesASwapThatTookEffect(t *testing.T) {
	plain := memstore.New().Client()
	s := faultstore.New(plain, faultstore.Nth(faultstore.Swap, "a", 2, faultstore.Fault{LostReply: true}), nil)
	first := swap(t, s, "a", "", "first")
	if _, err := s.Swap(t.Context(), "a", first, []byte("second")); !errors.Is(err, faultstore.ErrInjected) {
		t.Errorf("swap: %v", err)
	}
	if got := value(t, plain, "a"); got != "second" {
		t.Errorf("the store holds %q", got)
	}
	// The same swap again meets its own effect.
	if _, err := s.Swap(t.Context(), "a", first, []byte("second")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("swap again: %v", err)
	}
}

func TestLostReplyOfListComesAfterItsFirstEntry(t *testing.T) {
	plain := memstore.New().Client()
	for _, key := range []string{"a", "b", "c"} {
		swap(t, plain, key, "", key)
	}
	s := faultstore.New(plain, faultstore.Always(faultstore.Fault{LostReply: true}), nil)
	entries, failures := 0, 0
	for _, err := range s.List(t.Context(), "") {
		if err == nil {
			entries++
		} else if errors.Is(err, faultstore.ErrInjected) {
			failures++
		}
	}
	if entries != 1 || failures != 1 {
		t.Errorf("%d entries and %d failures, want 1 and 1", entries, failures)
	}
}

func TestLateSwapTakesEffectWhenDelivered(t *testing.T) {
	plain := memstore.New().Client()
	s := faultstore.New(plain, faultstore.Only(
		faultstore.Always(faultstore.Fault{Late: true}),
		func(call faultstore.Call) bool { return call.Verb == faultstore.Swap && call.N <= 2 },
	), nil)
	sent := []byte("late")
	for _, key := range []string{"a", "b"} {
		if _, err := s.Swap(t.Context(), key, "", sent); !errors.Is(err, faultstore.ErrInjected) {
			t.Fatalf("swap: %v", err)
		}
	}
	clear(sent) // a value on its way is not the caller's any more
	if got := value(t, s, "a"); got != "missing" {
		t.Errorf("before it is delivered: %q", got)
	}
	swap(t, plain, "b", "", "somebody else was faster")
	outcomes := s.Deliver(t.Context())
	if len(outcomes) != 2 || outcomes[0] != nil || !errors.Is(outcomes[1], store.ErrConflict) {
		t.Errorf("outcomes %v, want success and a conflict", outcomes)
	}
	if a, b := value(t, s, "a"), value(t, s, "b"); a != "late" || b != "somebody else was faster" {
		t.Errorf("%q and %q", a, b)
	}
	if again := s.Deliver(t.Context()); len(again) != 0 {
		t.Errorf("delivered twice: %v", again)
	}
}

func TestDoubledSwapTakesEffectAndArrivesOnceMore(t *testing.T) {
	memory := memstore.NewWith(memstore.Config{Loss: time.Hour})
	s := faultstore.New(memory.Client(), faultstore.Nth(faultstore.Swap, "a", 1, faultstore.Fault{Again: true}), nil)
	swap(t, s, "a", "", "sent once")
	if outcomes := s.Deliver(t.Context()); len(outcomes) != 1 || !errors.Is(outcomes[0], store.ErrConflict) {
		t.Errorf("the copy: %v, want a conflict", outcomes)
	}
	s.Follow(faultstore.Always(faultstore.Fault{Again: true}))
	swap(t, s, "b", "", "sent once")
	if _, err := memory.Failover(time.Hour); err != nil {
		t.Fatal(err)
	}
	if outcomes := s.Deliver(t.Context()); len(outcomes) != 1 || outcomes[0] != nil {
		t.Errorf("the copy after a failover: %v, want success", outcomes)
	}
	if got := value(t, s, "b"); got != "sent once" {
		t.Errorf("after the copy: %q", got)
	}
}

func TestStaleReadShowsTheStateBefore(t *testing.T) {
	plain := memstore.New().Client()
	s := faultstore.New(plain, faultstore.Only(
		faultstore.Always(faultstore.Fault{Stale: true}),
		func(call faultstore.Call) bool { return call.N%2 == 0 },
	), nil)
	version := swap(t, s, "a", "", "first")
	steps := []struct{ write, fresh, stale string }{
		{"", "first", "missing"},
		{"second", "second", "first"},
		{"third", "third", "second"},
		{"", "third", "second"}, // it stays one state behind, for as long as nothing changes
	}
	for _, step := range steps {
		if step.write != "" {
			version = swap(t, plain, "a", version, step.write)
		}
		if got := value(t, s, "a"); got != step.fresh {
			t.Errorf("fresh read: %q, want %q", got, step.fresh)
		}
		if got := value(t, s, "a"); got != step.stale {
			t.Errorf("stale read: %q, want %q", got, step.stale)
		}
	}
	list := func() (values []string) {
		for e, err := range s.List(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, string(e.Value))
		}
		return values
	}
	if fresh, stale := list(), list(); !slices.Equal(fresh, []string{"third"}) || !slices.Equal(stale, []string{"second"}) {
		t.Errorf("lists %q and then %q", fresh, stale)
	}
}

func TestDelayHoldsTheCallOrItsReplyBack(t *testing.T) {
	tests := []struct {
		name    string
		fault   faultstore.Fault
		during  string // the store's content half-way
		timeout time.Duration
		want    error
		after   string
	}{
		{"request", faultstore.Fault{Delay: time.Minute}, "missing", time.Hour, nil, "value"},
		{"reply", faultstore.Fault{ReplyDelay: time.Minute}, "value", time.Hour, nil, "value"},
		{"request, too long", faultstore.Fault{Delay: time.Minute}, "missing", 40 * time.Second, context.DeadlineExceeded, "missing"},
		{"reply, too long", faultstore.Fault{ReplyDelay: time.Minute}, "value", 40 * time.Second, context.DeadlineExceeded, "value"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				plain := memstore.New().Client()
				s := faultstore.New(plain, faultstore.Always(test.fault), nil)
				ctx, cancel := context.WithTimeout(t.Context(), test.timeout)
				defer cancel()
				begun := time.Now()
				returned := make(chan error, 1)
				go func() {
					_, err := s.Swap(ctx, "a", "", []byte("value"))
					returned <- err
				}()
				synctest.Wait()
				if got := value(t, plain, "a"); got != test.during {
					t.Errorf("half-way: %q, want %q", got, test.during)
				}
				if err := <-returned; !errors.Is(err, test.want) {
					t.Errorf("error %v, want %v", err, test.want)
				}
				if took, want := time.Since(begun), min(time.Minute, test.timeout); took != want {
					t.Errorf("took %v, want %v", took, want)
				}
				if got := value(t, plain, "a"); got != test.after {
					t.Errorf("after: %q, want %q", got, test.after)
				}
			})
		})
	}
}

// faults makes n swaps of each key, on a goroutine each, and returns every call's fault.
func faults(t *testing.T, seed uint64, n int, keys ...string) map[faultstore.Call]faultstore.Fault {
	t.Helper()
	s := faultstore.New(memstore.New().Client(), faultstore.Seeded(seed, faultstore.Rates{
		Before: 0.2, Late: 0.1, LostReply: 0.2, Stale: 0.1, Delay: 0.1, MaxDelay: time.Microsecond,
	}), nil)
	var all sync.WaitGroup
	for _, key := range keys {
		all.Go(func() {
			for range n {
				// Only the call's fault matters.
				_, _ = s.Swap(t.Context(), key, "", nil)
			}
		})
	}
	all.Wait()
	befell := make(map[faultstore.Call]faultstore.Fault)
	for _, record := range s.Calls() {
		befell[record.Call] = record.Fault
	}
	return befell
}

func TestSeedReplaysFaultsWhateverTheOrderOfCalls(t *testing.T) {
	one := faults(t, 1, 100, "a", "b", "c")
	if again := faults(t, 1, 100, "c", "a", "b"); !maps.Equal(one, again) {
		t.Error("the same seed and calls meet different faults")
	}
	if other := faults(t, 2, 100, "a", "b", "c"); maps.Equal(one, other) {
		t.Error("another seed brings the same faults")
	}
	if len(one) != 300 {
		t.Errorf("%d calls, want 300", len(one))
	}
}

func TestSeededFaultsComeAtTheirRates(t *testing.T) {
	plan := faultstore.Seeded(7, faultstore.Rates{Before: 0.1, LostReply: 0.3, Delay: 0.5, MaxDelay: time.Second})
	const n = 10_000
	var before, lost, late, delayed int
	var total time.Duration
	for i := range uint64(n) {
		f := plan(faultstore.Call{Verb: faultstore.Swap, Key: "a", N: i + 1})
		if f.Before {
			before++
		}
		if f.LostReply {
			lost++
		}
		if f.Late || f.Stale {
			late++
		}
		if f.Delay > 0 {
			delayed++
			total += f.Delay
		}
	}
	near := func(name string, got, want int) {
		if got < want*9/10 || got > want*11/10 {
			t.Errorf("%s: %d of %d, want about %d", name, got, n, want)
		}
	}
	near("before", before, n/10)
	near("lost replies", lost, n*3/10)
	near("delayed", delayed, n/2)
	near("mean delay in ms", int(total.Milliseconds())/delayed, 500)
	if late != 0 {
		t.Errorf("%d faults of a rate of zero", late)
	}
}

func Example() {
	ctx := context.Background()
	memory := memstore.New()
	s := faultstore.New(memory.Client(), faultstore.Nth(faultstore.Swap, "greeting", 1, faultstore.Fault{LostReply: true}), nil)

	_, err := s.Swap(ctx, "greeting", "", []byte("hello"))
	fmt.Println(err)

	// The outcome is unknown, so read again.
	e, err := s.Get(ctx, "greeting")
	fmt.Printf("%s %v\n", e.Value, err)
	// Output:
	// faultstore: injected failure on the way back from the store
	// hello <nil>
}
