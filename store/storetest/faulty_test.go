package storetest_test

import (
	"testing"

	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/storetest"
)

func TestSoundStoreKeepsEveryRuleUnderFaults(t *testing.T) {
	storetest.RunFaulty(t, harness(sound))
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
