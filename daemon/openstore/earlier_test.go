//go:build servers

package openstore

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
)

// earlier is the state of a store that an earlier version of this program wrote, as its server showed
// it, and that version's reading of it. See testdata/35e8b1d.
type earlier struct {
	Loss      string
	Clock     time.Time // when it was taken
	Native    []native
	Registers []struct{ Key, Value string }
	Workers   []earlierWorker
}

// earlierWorker is one line of the earlier version's roster.
type earlierWorker struct {
	Namespace    string
	Worker       int64
	State        roster.State
	Term         int64
	Floor, Until snowfence.Tick
	Holder       string
	Quarantined  bool
	Text         string // the printed line
}

// TestStoreOfAnEarlierVersionGoesOn puts the state that an earlier version left in a
// store into a new server, and works with it.
func TestStoreOfAnEarlierVersionGoesOn(t *testing.T) {
	for _, name := range testkit.EngineNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they share nothing, and mostly wait
			text, err := os.ReadFile(filepath.Join("testdata", "35e8b1d", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var was earlier
			if err := json.Unmarshal(text, &was); err != nil {
				t.Fatal(err)
			}
			url := restore(t, name, was)
			s := at(t, url)
			if traits, err := s.Traits(t.Context()); err != nil || traits.Loss.String() != was.Loss {
				t.Fatalf("the store can lose %s (%v), want %s", traits.Loss, err, was.Loss)
			}
			e, err := engine.Of(url)
			if err != nil {
				t.Fatal(err)
			}
			w := earlierWorld{T: t, was: was, store: s, hasClock: e.Clock, known: map[earlierID]earlierWorker{}}
			for _, e := range was.Workers {
				w.known[earlierID{e.Namespace, e.Worker}] = e
			}
			w.readsTheSame()
			w.listsTheSame()
			w.claims(was.Clock, func(e earlierWorker) bool { return e.State == roster.Free })
			rested := was.Clock
			for _, e := range was.Workers {
				if until := w.layout(e.Namespace).TimeOf(e.Until); until.After(rested) {
					rested = until
				}
			}
			w.claims(rested.Add(time.Second), func(e earlierWorker) bool { return !e.Quarantined })
			w.keepsNamespaces()
		})
	}
}

// earlierWorld is a store with an earlier version's state in it.
type earlierWorld struct {
	*testing.T
	was      earlier
	store    store.Store
	hasClock bool
	known    map[earlierID]earlierWorker // the state that the next claim of each has to respect
}

type earlierID struct {
	namespace string
	worker    int64
}

// at returns the store and a clock that both show one time.
func (w *earlierWorld) at(wall time.Time) (store.Store, snowfence.Clock) {
	clock := stoppedClock{snowfence.SystemClock(), wall}
	if w.hasClock {
		return stoppedStore{w.store, wall}, clock
	}
	return w.store, clock
}

// stoppedClock shows one time forever. Waits are real.
type stoppedClock struct {
	snowfence.Clock
	wall time.Time
}

func (c stoppedClock) Wall() time.Time { return c.wall }

// stoppedStore is a store whose own clock shows one time forever.
type stoppedStore struct {
	store.Store
	wall time.Time
}

func (s stoppedStore) Now(context.Context) (time.Time, error) { return s.wall, nil }

// readsTheSame shows that the store has every register byte for byte, and that each
// is written again as it is.
func (w *earlierWorld) readsTheSame() {
	w.Helper()
	found := map[string]string{}
	for entry, err := range w.store.List(w.Context(), "") {
		if err != nil {
			w.Fatal(err)
		}
		found[entry.Key] = string(entry.Value)
	}
	if len(found) != len(w.was.Registers) {
		w.Errorf("there are %d registers, want %d", len(found), len(w.was.Registers))
	}
	for _, r := range w.was.Registers {
		if found[r.Key] != r.Value {
			w.Errorf("%s: %s, want %s", r.Key, found[r.Key], r.Value)
		}
		var record interface{ Encode() ([]byte, error) }
		var err error
		if strings.HasSuffix(r.Key, "/namespace") {
			record, err = stored.DecodeNamespace([]byte(r.Value))
		} else {
			record, err = stored.DecodeRegister([]byte(r.Value))
		}
		if err != nil {
			w.Fatalf("%s: %v", r.Key, err)
		}
		if again, err := record.Encode(); err != nil || string(again) != r.Value {
			w.Errorf("%s is written as %s (%v), want %s", r.Key, again, err, r.Value)
		}
	}
}

// listsTheSame shows that the roster reads the same as the earlier version's roster.
func (w *earlierWorld) listsTheSame() {
	w.Helper()
	var found []earlierWorker
	states := map[roster.State]int{}
	for _, namespace := range []string{"default", "orders"} {
		for worker, err := range w.roster(namespace).Workers(w.Context()) {
			if err != nil {
				w.Fatal(err)
			}
			r := worker.Register
			found = append(found, earlierWorker{
				namespace, worker.Number, worker.State, r.Term, r.Floor, r.Until, r.Holder, r.Quarantined, worker.String(),
			})
			states[worker.State]++
		}
	}
	slices.SortFunc(found, func(a, b earlierWorker) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Worker, b.Worker))
	})
	if !slices.Equal(found, w.was.Workers) {
		w.Errorf("the roster lists\n%+v, want\n%+v", found, w.was.Workers)
	}
	for _, state := range []roster.State{roster.Free, roster.Held, roster.Resting, roster.Quarantined} {
		if states[state] == 0 {
			w.Errorf("no worker id is %s: the test shows less than it should", state)
		}
	}
}

func (w *earlierWorld) roster(namespace string) *roster.Roster {
	w.Helper()
	s, clock := w.at(w.was.Clock)
	r, err := roster.Open(w.Context(), roster.Config{Store: s, Namespace: namespace, Clock: clock})
	if err != nil {
		w.Fatal(err)
	}
	return r
}

func (w *earlierWorld) layout(namespace string) snowfence.Layout { return w.roster(namespace).Layout() }

// claims claims every worker id at one time, all at once, and shows which ones with a register can be
// claimed. A holder that would take any worker id finds all of them taken.
func (w *earlierWorld) claims(wall time.Time, can func(earlierWorker) bool) {
	w.Helper()
	s, clock := w.at(wall)
	for _, namespace := range []string{"default", "orders"} {
		layout, owner := w.layout(namespace), w.roster(namespace)
		open := func(worker *int64, wait time.Duration) (*fence.Holder, error) {
			return fence.Open(w.Context(), fence.Config{
				Store: s, Namespace: namespace, Layout: layout, Worker: worker, Clock: clock, ClaimWait: wait,
			})
		}
		// A failing claim is not worth a wait, and a claim that works comes late on a busy machine.
		const short, long = 100 * time.Millisecond, time.Minute
		type claim struct {
			worker int64
			holder *fence.Holder
			err    error
		}
		claims := make(chan claim)
		count := 0
		for number := range layout.Workers() {
			if !owner.Own(number) {
				continue
			}
			wait := short
			if can(w.last(namespace, number)) {
				wait = long
			}
			count++
			go func() {
				holder, err := open(&number, wait)
				claims <- claim{number, holder, err}
			}()
		}
		var holders []*fence.Holder
		for range count {
			c := <-claims
			e := w.last(namespace, c.worker)
			if c.err == nil {
				holders = append(holders, c.holder)
			}
			if !can(e) {
				if c.err == nil {
					w.Errorf("%s: worker %d, which is %s, is claimed at %s", namespace, c.worker, e.Text, wall)
				}
				continue
			}
			if c.err != nil {
				w.Errorf("%s: worker %d, which is %s, can't be claimed at %s: %v", namespace, c.worker, e.Text, wall, c.err)
				continue
			}
			w.claimedAbove(c.holder, e)
		}
		if holder, err := open(nil, short); err == nil {
			w.Errorf("%s: with all claimed there is worker %d still", namespace, holder.Status().Worker)
		}
		for _, holder := range holders {
			if err := holder.Close(w.Context()); err != nil {
				w.Errorf("%s: close: %v", namespace, err)
			}
		}
	}
}

// last returns the known state of a worker id.
func (w *earlierWorld) last(namespace string, worker int64) earlierWorker {
	if e, ok := w.known[earlierID{namespace, worker}]; ok {
		return e
	}
	return earlierWorker{Namespace: namespace, Worker: worker, State: roster.Free, Text: "without a register"}
}

// claimedAbove shows that a term is the next one, and that its ids begin above all earlier ids. The
// term is known from then on.
func (w *earlierWorld) claimedAbove(holder *fence.Holder, e earlierWorker) {
	w.Helper()
	s := holder.Status()
	id, err := holder.Next(w.Context())
	if err != nil {
		w.Errorf("%s: worker %d: %v", e.Namespace, e.Worker, err)
		return
	}
	parts, err := s.Layout.Decompose(id)
	if err != nil || s.Floor < e.Until || parts.Tick < s.Floor || s.Term != e.Term+1 {
		w.Errorf("%s: worker %d begins at %d in term %d and issued tick %d (%v), want term %d at %d or above",
			e.Namespace, e.Worker, s.Floor, s.Term, parts.Tick, err, e.Term+1, e.Until)
	}
	e.Term, e.Until = s.Term, parts.Tick+1
	w.known[earlierID{e.Namespace, e.Worker}] = e
}

// keepsNamespaces shows that the records of the namespaces, and the registers that
// can't be claimed, have not changed.
func (w *earlierWorld) keepsNamespaces() {
	w.Helper()
	for _, r := range w.was.Registers {
		if !strings.HasSuffix(r.Key, "/namespace") && !strings.Contains(r.Value, `"quarantined":true`) {
			continue
		}
		if entry, err := w.store.Get(w.Context(), r.Key); err != nil || string(entry.Value) != r.Value {
			w.Errorf("%s: %s (%v), want %s", r.Key, entry.Value, err, r.Value)
		}
	}
}
