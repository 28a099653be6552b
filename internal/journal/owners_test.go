//go:build linux || darwin

package journal_test

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/journal"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

// holder opens a holder of worker 0, and of the journal in a folder unless that is
// empty.
func holder(t *testing.T, s store.Store, dir string) (*fence.Holder, error) {
	t.Helper()
	layout := snowfence.DefaultLayout()
	layout.Epoch = time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC) // before the time of a bubble
	c := fence.Config{Store: s, Layout: layout, Worker: new(int64), Window: time.Hour, ClaimWait: time.Second}
	c.Policy.MaxWait = 2 * time.Millisecond
	if dir != "" {
		j, err := journal.OpenUnlocked(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := j.Close(); err != nil {
				t.Error(err)
			}
		})
		c.Journal = j
	}
	h, err := fence.Open(t.Context(), c)
	if err == nil {
		t.Cleanup(func() {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_ = h.Close(ctx) // it says that the worker id was not released
		})
	}
	return h, err
}

// TestTwoHoldersOfOneJournalShareNoID has a lock without effect, so that a second holder goes on
// with the term of a first one that still lives. The first notices when it keeps its next page, or when
// it discards the journal to give the worker id back; and then its term ends, and nothing is lowered.
func TestTwoHoldersOfOneJournalShareNoID(t *testing.T) {
	away := faultstore.Always(faultstore.Fault{Before: true})
	for _, test := range []struct {
		name string
		// then runs when the second has resumed; it returns who else issues.
		then func(t *testing.T, first *fence.Holder, link *faultstore.Store) *fence.Holder
	}{
		{"the first goes on without the store", func(_ *testing.T, first *fence.Holder, link *faultstore.Store) *fence.Holder {
			link.Follow(away)
			return first
		}},
		{"the first gives the worker id back, for a third to claim", func(t *testing.T, first *fence.Holder, link *faultstore.Store) *fence.Holder {
			if err := first.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if third, err := holder(t, link, ""); err == nil {
				return third
			}
			return first // it is closed: the window that the second has is respected
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "journal")
			synctest.Test(t, func(t *testing.T) {
				memory := memstore.New()
				link := faultstore.New(memory.Client(), nil, nil)
				first, err := holder(t, link, dir)
				if err != nil {
					t.Fatal(err)
				}
				seen, issued, equal := map[snowfence.ID]bool{}, map[*fence.Holder]int{}, 0
				issue := func(h *fence.Holder) {
					ids := make([]snowfence.ID, 3000)
					if h.Fill(t.Context(), ids) != nil {
						return
					}
					issued[h]++
					for _, id := range ids {
						if seen[id] {
							equal++
						}
						seen[id] = true
					}
				}
				issue(first)
				second, err := holder(t, faultstore.New(memory.Client(), away, nil), dir)
				if err != nil {
					t.Fatal(err)
				}
				if !second.Status().Journal.Resumed {
					t.Fatalf("the second did not resume: %+v", second.Status())
				}
				other := test.then(t, first, link)
				for range 50 {
					issue(other)
					issue(second)
					expired, _ := snowfence.SystemClock().After(100 * time.Millisecond)
					<-expired
				}
				if issued[first] == 0 || issued[second] < 30 {
					t.Errorf("issued %d and %d batches: the test shows nothing", issued[first], issued[second])
				}
				if equal > 0 {
					t.Errorf("%d of %d ids are equal to others", equal, len(seen)+equal)
				}
			})
		})
	}
}
