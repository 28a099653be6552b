package storetest_test

import (
	"fmt"
	"slices"
	"testing"

	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/storetest"
)

func TestSoundStoreKeepsEveryRuleUnderFaults(t *testing.T) {
	storetest.RunFaulty(t, harness(sound))
}

// TestEveryFaultBefallsCalls shows that no fault of the table is one in name
// only.
func TestEveryFaultBefallsCalls(t *testing.T) {
	var zero faultstore.Fault
	tests := map[string]func(f faultstore.Fault) bool{
		"error-before": func(f faultstore.Fault) bool { return f.Before },
		"lost-reply":   func(f faultstore.Fault) bool { return f.LostReply },
		"late":         func(f faultstore.Fault) bool { return f.Late },
		"delay":        func(f faultstore.Fault) bool { return f.Delay > 0 },
		"stale":        func(f faultstore.Fault) bool { return f.Stale },
		"all":          func(f faultstore.Fault) bool { return f != zero },
	}
	for name, h := range storetest.Faulty(harness(sound)) {
		want := tests[name]
		if want == nil {
			t.Errorf("fault %s: not expected", name)
			continue
		}
		delete(tests, name)
		s, err := h.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		arrived := 0
		for i := range 60 {
			key := fmt.Sprintf("key-%d", i/2)
			_, _ = s.Swap(t.Context(), key, "", []byte("value"))
			if e, err := s.Get(t.Context(), key); err == nil && string(e.Value) == "value" {
				arrived++
			}
		}
		decorated, ok := s.(interface{ Unwrap() store.Store }).Unwrap().(*faultstore.Store)
		if !ok {
			t.Fatalf("fault %s: the client is not decorated", name)
		}
		struck := func(r faultstore.Record) bool { return want(r.Fault) }
		if !slices.ContainsFunc(decorated.Calls(), struck) {
			t.Errorf("fault %s: struck none of %d calls", name, len(decorated.Calls()))
		}
		// Late swaps do arrive: without, few of two tries a key would fail.
		if arrived < 20 {
			t.Errorf("fault %s: only %d of 60 reads saw a value", name, arrived)
		}
		if left := decorated.Deliver(t.Context()); len(left) > 3 {
			t.Errorf("fault %s: %d late swaps were left behind", name, len(left))
		}
	}
	for name := range tests {
		t.Errorf("fault %s: missing", name)
	}
}

// TestBrokenStoreIsFoundUnderFaultsToo shows that a flaky harness excuses
// errors and nothing else.
func TestBrokenStoreIsFoundUnderFaultsToo(t *testing.T) {
	for name, wrong := range map[string]func(store.Store) store.Store{
		"compares nothing":         comparesNothing,
		"conflicts after it wrote": conflictsAfterWriting,
		"never sees others' swaps": remembersFirstReads,
	} {
		for fault, h := range storetest.Faulty(harness(wrong)) {
			t.Run(name+", "+fault, func(t *testing.T) {
				t.Parallel()
				if violations := storetest.Check(t.Context(), h); len(violations) == 0 {
					t.Error("nothing was found")
				}
			})
		}
	}
}
