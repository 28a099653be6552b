// Package kindtest holds a [kind.Minter] to the rules that its interface
// states. A kind that passes fits every front.
package kindtest

import (
	"context"
	"slices"
	"sync"
	"testing"

	"snowfence.example/snowfence/daemon/kind"
)

// rule is a rule that every minter must keep.
type rule struct {
	name    string
	meaning string
	check   func(*testing.T, kind.Minter)
}

func rules() []rule {
	return []rule{
		{"ExactNumber", "a call adds exactly as many ids as were asked for", exactNumber},
		{"Form", "every id has the form that the minter reports, and a text", form},
		{"Appends", "ids are added after the earlier ids, which stay as they are", appends},
		{"Unique", "no id is minted twice, in one call or by many goroutines at a time", unique},
		{"CancelledAddsNothing", "a call whose context has ended adds all its ids or nothing", cancelled},
	}
}

// TestMinter checks a minter that open returns: a new one for each rule, which
// must be able to mint some 10,000 ids without much of a wait.
func TestMinter(t *testing.T, open func(*testing.T) kind.Minter) {
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			t.Log("rule: " + r.meaning)
			r.check(t, open(t))
		})
	}
}

func mint(t *testing.T, m kind.Minter, n int, into *kind.Batch) {
	t.Helper()
	if err := m.Mint(t.Context(), n, into); err != nil {
		t.Fatalf("mint %d: %v", n, err)
	}
}

func texts(b *kind.Batch) []string {
	var all []string
	for text := range b.Texts() {
		all = append(all, string(text))
	}
	return all
}

func exactNumber(t *testing.T, m kind.Minter) {
	var b kind.Batch
	for _, n := range []int{1, 2, 63, 64, 65, 1000} {
		b.Reset()
		mint(t, m, n, &b)
		if b.Len() != n {
			t.Errorf("asked for %d, added %d", n, b.Len())
		}
	}
}

func form(t *testing.T, m kind.Minter) {
	var b kind.Batch
	mint(t, m, 10, &b)
	if b.Form() != m.Form() {
		t.Errorf("minted %v ids, reports that they are %v", b.Form(), m.Form())
	}
	for i, text := range texts(&b) {
		if text == "" {
			t.Errorf("id %d has no text", i)
		}
	}
}

func appends(t *testing.T, m kind.Minter) {
	var b kind.Batch
	mint(t, m, 3, &b)
	before := texts(&b)
	mint(t, m, 5, &b)
	if after := texts(&b); len(after) != 8 || !slices.Equal(after[:3], before) {
		t.Errorf("3 ids, then 5: %q became %q", before, after)
	}
}

func unique(t *testing.T, m kind.Minter) {
	const goroutines, calls, n = 8, 10, 100
	batches := make([]kind.Batch, goroutines)
	var group sync.WaitGroup
	for i := range batches {
		group.Go(func() {
			for range calls {
				if err := m.Mint(t.Context(), n, &batches[i]); err != nil {
					t.Errorf("mint: %v", err)
					return
				}
			}
		})
	}
	group.Wait()
	seen := map[string]bool{}
	for i := range batches {
		for _, text := range texts(&batches[i]) {
			if seen[text] {
				t.Fatalf("%s was minted twice", text)
			}
			seen[text] = true
		}
	}
}

func cancelled(t *testing.T, m kind.Minter) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var b kind.Batch
	mint(t, m, 3, &b)
	before := texts(&b)
	want := 3
	if err := m.Mint(ctx, 500, &b); err == nil {
		want = 503 // nothing had to wait
	}
	if after := texts(&b); len(after) != want || !slices.Equal(after[:3], before) {
		t.Errorf("%d ids after a cancelled call, want %d beginning with %q", len(after), want, before)
	}
}
