package fence_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

// TestPageIsResumedFromOnItsOwnStoreOnly restarts a process, within its window, with another store that is silent
// then. That store has a holder of the same worker id. A resumed term would repeat its ids.
func TestPageIsResumedFromOnItsOwnStoreOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		book := &notebook{}
		keep := func(c *fence.Config) {
			pinned(c)
			c.Window, c.Journal, c.ClaimWait = time.Minute, book, 2*time.Second
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		}
		first, second := memstore.New(), memstore.New()
		away := faultstore.New(first.Client(), nil, nil)
		h := open(t, away, keep)
		next(t, h)
		other := open(t, second.Client(), pinned)
		away.Follow(noStore) // so the first holder can't give its worker id back
		leave(h)
		if !book.has() {
			t.Fatal("there is no page")
		}
		silent := faultstore.New(second.Client(), noStore, nil)
		resumed, err := tryOpen(t, silent, keep)
		if err == nil {
			t.Errorf("it resumed the term of another store, and %d of 20000 ids are equal", equal(t, resumed, other))
			leave(resumed)
		} else if !errors.Is(err, fence.ErrUnavailable) {
			t.Errorf("the error is %v", err)
		}
		for _, part := range []string{"the journal's term is not resumed", store.NameOf(first.Client()), store.NameOf(silent)} {
			if !strings.Contains(log.String(), part) {
				t.Errorf("%q is not logged:\n%s", part, log.String())
			}
		}
	})
}

// equal counts the ids that two holders make both.
func equal(t *testing.T, a, b *fence.Holder) (n int) {
	t.Helper()
	seen, ids := map[snowfence.ID]bool{}, make([]snowfence.ID, 4000)
	pass(2 * time.Second) // above what the page has as used
	for range 5 {
		for _, h := range []*fence.Holder{a, b} {
			if err := h.Fill(t.Context(), ids); err != nil {
				t.Fatal(err)
			}
			for _, id := range ids {
				if seen[id] {
					n++
				}
				seen[id] = true
			}
		}
	}
	return n
}

// nameless is a store that does not say which one it is.
type nameless struct{ store.Store }

func TestJournalNeedsAStoreWithAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keep := func(c *fence.Config) { c.Journal = &notebook{} }
		var refused *fence.ConfigError
		if _, err := tryOpen(t, nameless{memstore.New().Client()}, keep); !errors.As(err, &refused) || refused.Field != "store-name" {
			t.Errorf("the error is %v", err)
		}
		h := open(t, nameless{memstore.New().Client()}, keep, func(c *fence.Config) { c.StoreName = "the first one" })
		next(t, h)
	})
}
