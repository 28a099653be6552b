package storetest_test

import (
	"context"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
	"snowfence.example/snowfence/store/storetest"
)

// harness returns a harness with every hook over a new memory. broken wraps
// each client: it makes the store wrong.
func harness(broken func(store.Store) store.Store) storetest.Harness {
	memory := memstore.New()
	return storetest.Harness{
		Open: func(context.Context) (store.Store, error) { return broken(memory.Client()), nil },
		Snapshot: func(context.Context) (func(context.Context) error, error) {
			snapshot := memory.Snapshot()
			return func(context.Context) error { memory.Restore(snapshot); return nil }, nil
		},
		OpenLossy: func(context.Context) (store.Store, func(), error) {
			faulty := faultstore.New(memory.Client(), nil, nil)
			return broken(faulty), func() { faulty.Follow(oneLostReply()) }, nil
		},
		Staleness: 50 * time.Millisecond,
	}
}

// oneLostReply loses the reply of the first swap that it is asked about.
func oneLostReply() faultstore.Plan {
	var once sync.Once
	return func(call faultstore.Call) (f faultstore.Fault) {
		if call.Verb == faultstore.Swap {
			once.Do(func() { f.LostReply = true })
		}
		return f
	}
}

func sound(s store.Store) store.Store { return s }

func TestSoundStoreKeepsEveryRule(t *testing.T) {
	storetest.Run(t, harness(sound))
	if violations := storetest.Check(t.Context(), harness(sound)); len(violations) != 0 {
		t.Errorf("violations: %v", violations)
	}
}

func TestRulesAreNamedAndExplained(t *testing.T) {
	names := make(map[string]bool)
	for _, r := range storetest.Rules() {
		if r.Name == "" || names[r.Name] || r.Explanation == "" {
			t.Errorf("rule %+v: needs a name of its own and an explanation", r)
		}
		names[r.Name] = true
	}
}

// TestBrokenStoreFailsAtTheRuleItBreaks shows that the suite finds each broken rule, under its name. A
// store that is thoroughly wrong breaks several rules at once; all of them are named.
func TestBrokenStoreFailsAtTheRuleItBreaks(t *testing.T) {
	// Whoever writes without comparing anything breaks whatever rests on it.
	guards := []string{"create-existing", "stale-version", "version-of-missing", "version-of-another",
		"version-not-value", "value-limits", "create-once", "resend"}
	tests := []struct {
		name   string
		broken func() func(store.Store) store.Store
		rules  []string
		// sometimes are rules that it breaks too when calls happen to race.
		sometimes []string
	}{
		{"compares nothing", each(comparesNothing), guards, []string{"contention"}},
		{"compares the value only", comparesValue, []string{"version-not-value"}, nil},
		{"creates over what exists", each(createsOver), []string{"create-existing", "value-limits", "create-once", "resend"}, []string{"contention"}},
		{"creates under any version", each(createsUnderAnyVersion), []string{"version-of-missing"}, nil},
		{"takes another key's version", each(takesOthersVersions), []string{"version-of-another"}, nil},
		{"counts its versions", countsVersions(0), []string{"version-of-another", "version-after-rollback"}, nil},
		{"counts its versions in a circle", countsVersions(7), []string{"version-of-another", "version-unique", "version-after-rollback", "contention"}, nil},
		{"folds case", each(foldsCase), []string{"key-refused"}, nil},
		{"takes _ for -", each(foldsSigns), []string{"key-limits", "key-bytes", "list-prefix"}, nil},
		{"cuts long keys", each(cutsKeys), []string{"key-limits"}, nil},
		{"takes the prefix for a substring", each(listsSubstrings), []string{"list-prefix"}, nil},
		{"lists one page", each(listsOnePage), []string{"list-complete"}, nil},
		{"lists swaps that it only heard of", listsRumours, []string{"list-existing"}, nil},
		{"lists once", each(listsOnce), []string{"list-range"}, nil},
		{"cuts long values", each(cutsValues), []string{"value-limits"}, nil},
		{"ends values at NUL", each(endsValuesAtNUL), []string{"value-bytes"}, nil},
		{"takes an empty value for a missing register", each(losesEmptyValues), []string{"value-limits"}, nil},
		{"cuts values that are too long", each(acceptsLongValues), []string{"value-refused"}, nil},
		{"hands out its own memory", aliases, []string{"value-copied"}, nil},
		{"reports a conflict after it wrote", each(conflictsAfterWriting), []string{"conflict-final", "create-once", "resend"}, []string{"contention"}},
		{"keeps refused swaps for later", queuesConflicts, []string{"conflict-final"}, nil},
		{"repeats a swap that failed", each(repeatsFailures), []string{"lost-reply"}, nil},
		{"conflicts with swaps of other keys", conflictsFalsely, []string{"list-range", "conflict-true", "reopen"}, []string{"context-ends"}},
		{"takes the same bytes for a repetition", each(idempotent), []string{"resend"}, nil},
		{"ignores contexts", each(ignoresContexts), []string{"context-ended"}, nil},
		{"swaps before it looks at the context", each(swapsUnderEndedContexts), []string{"context-ended"}, nil},
		{"swaps and claims a conflict when its context ends", each(conflictsOnEndedContexts), []string{"context-ends"}, nil},
		{"forgets on reopening", forgets, []string{"reopen"}, nil},
		{"never sees others' later swaps", each(remembersFirstReads), []string{"replace", "conflict-final", "lost-reply", "context-ends"}, nil},
		{"works on after close", each(neverCloses), []string{"closed"}, nil},
		{"fails when closed twice", each(closesOnce), []string{"closed"}, nil},
		{"claims to be lossy without a loss", each(contradictsItself), []string{"traits"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var broke []string
			for _, v := range storetest.Check(t.Context(), harness(test.broken())) {
				t.Log(v.Error())
				if !slices.Contains(test.sometimes, v.Rule) {
					broke = append(broke, v.Rule)
				}
			}
			if !slices.Equal(broke, test.rules) {
				t.Errorf("broke the rules %q, want %q", broke, test.rules)
			}
		})
	}
}

func TestSuiteGivesUpOnCallThatNeverReturns(t *testing.T) {
	h := harness(func(s store.Store) store.Store {
		return &broken{Store: s, get: func(context.Context, string) (store.Entry, error) { select {} }}
	})
	h.Timeout = 20 * time.Millisecond
	if violations := storetest.Check(t.Context(), h); len(violations) < 10 {
		t.Errorf("%d violations", len(violations))
	}
}

// broken is a store with some methods replaced.
type broken struct {
	store.Store
	get    func(context.Context, string) (store.Entry, error)
	swap   func(context.Context, string, store.Version, []byte) (store.Version, error)
	list   func(context.Context, string) iter.Seq2[store.Entry, error]
	traits func(context.Context) (store.Traits, error)
	close  func() error
}

func (b *broken) Get(ctx context.Context, key string) (store.Entry, error) {
	if b.get != nil {
		return b.get(ctx, key)
	}
	return b.Store.Get(ctx, key)
}

func (b *broken) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	if b.swap != nil {
		return b.swap(ctx, key, prev, value)
	}
	return b.Store.Swap(ctx, key, prev, value)
}

func (b *broken) List(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
	if b.list != nil {
		return b.list(ctx, prefix)
	}
	return b.Store.List(ctx, prefix)
}

func (b *broken) Traits(ctx context.Context) (store.Traits, error) {
	if b.traits != nil {
		return b.traits(ctx)
	}
	return b.Store.Traits(ctx)
}

func (b *broken) Close() error {
	if b.close != nil {
		return b.close()
	}
	return b.Store.Close()
}

// each is for stores whose clients share nothing but the memory.
func each(wrong func(store.Store) store.Store) func() func(store.Store) store.Store {
	return func() func(store.Store) store.Store { return wrong }
}
