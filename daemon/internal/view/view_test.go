package view_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/internal/view"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

// world is a store with a namespace "orders", and a daemon that is looked at.
type world struct {
	t     *testing.T
	store store.Store
	lists atomic.Int64 // of registers
	view  *view.View

	mu       sync.Mutex    // guards the fields below
	slow     time.Duration // how long a list takes
	away     bool
	statuses []front.Status
	refusals []front.Refusal
	requests map[string]view.Requests
	events   view.Events
}

// Guarded, Client and Statuses implement [front.Service].
func (w *world) Guarded() bool                  { return false }
func (w *world) Client(netip.Addr) front.Client { return nil }
func (w *world) Statuses() []front.Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.statuses
}

// Refusals implements [front.Service].
func (w *world) Refusals() []front.Refusal {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refusals
}

// set changes the daemon's world.
func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// live runs a rule in a bubble, with a view that runs.
func live(t *testing.T, rule func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t}
		w.store = faultstore.New(memstore.New().Client(), func(c faultstore.Call) faultstore.Fault {
			w.mu.Lock()
			defer w.mu.Unlock()
			if c.Verb != faultstore.List {
				return faultstore.Fault{Before: w.away}
			}
			w.lists.Add(1)
			return faultstore.Fault{Delay: w.slow}
		}, nil)
		pool := view.Pool{Store: w.store, Namespace: "orders"}
		w.view = view.New(view.Config{
			Service: w, Pools: []view.Pool{pool, pool}, Process: process("me"), Clock: snowfence.SystemClock(), Events: &w.events,
			Generators: map[string]config.Generator{"users": {Settings: map[string]string{"guard": "etcd"}}},
			Requests: func() map[string]view.Requests {
				w.mu.Lock()
				defer w.mu.Unlock()
				return w.requests
			},
		})
		ctx, end := context.WithCancel(t.Context())
		defer end()
		go w.view.Run(ctx)
		rule(t, w)
	})
}

func process(host string) fence.Process {
	return fence.Process{Host: host, PID: 7, Started: time.Unix(1, 0)}
}

// hold claims a worker id by a host's clock, until the test ends.
func (w *world) hold(host string, number int64, clock snowfence.Clock) *fence.Holder {
	w.t.Helper()
	h, err := fence.Open(w.t.Context(), fence.Config{
		Store: w.store, Namespace: "orders", Worker: &number, Process: process(host), Clock: clock, Window: 30 * time.Second,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = h.Close(context.Background()) })
	return h
}

// state looks at the only namespace.
func (w *world) state() (view.State, view.Namespace) {
	w.t.Helper()
	s := w.view.State(w.t.Context())
	if len(s.Namespaces) != 1 {
		w.t.Fatalf("%d namespaces", len(s.Namespaces))
	}
	return s, s.Namespaces[0]
}

// still is the state of the daemon without a namespace.
func (w *world) still(events *view.Events, flags map[view.Place]string) view.State {
	return view.New(view.Config{
		Service: w, Clock: snowfence.SystemClock(), Events: events, Flags: flags, Requests: func() map[string]view.Requests { return nil },
	}).State(w.t.Context())
}

// pass lets time pass in the bubble.
func pass(d time.Duration) {
	expired, _ := snowfence.SystemClock().After(d)
	<-expired
	synctest.Wait()
}

// ahead is a clock that is off.
type ahead struct {
	snowfence.Clock
	by time.Duration
}

func (c ahead) Wall() time.Time { return c.Clock.Wall().Add(c.by) }

func TestANamespaceIsReadOnceForAllReaders(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.hold("a", 3, nil)
		w.lists.Store(0)
		w.set(func() { w.slow = 20 * time.Millisecond })
		for range 100 {
			go func() { _, _ = w.view.Workers(t.Context(), "", "orders", 0, 10) }()
		}
		pass(500 * time.Millisecond)
		for range 100 {
			w.state()
		}
		if n := w.lists.Load(); n != 1 {
			t.Errorf("%d reads in half a second", n)
		}
	})
}

func TestAReadFollowsAnotherAfterASecondAndTenTimesItsLength(t *testing.T) {
	for slow, least := range map[time.Duration]int64{10 * time.Millisecond: 60, time.Second: 6} { // in a minute
		live(t, func(t *testing.T, w *world) {
			w.hold("a", 3, nil)
			w.set(func() { w.slow = slow })
			w.lists.Store(0)
			for range 600 {
				go w.view.State(t.Context())
				pass(100 * time.Millisecond)
			}
			if n := w.lists.Load(); n > least || n < least-10 || n < 5 {
				t.Errorf("reads of %s: %d in a minute", slow, n)
			}
		})
	}
}

// TestOneReaderCostsTheStoreAsManyReadsAsAHundred has readers that ask every two seconds, as pages do, one after another.
func TestOneReaderCostsTheStoreAsManyReadsAsAHundred(t *testing.T) {
	for _, slow := range []time.Duration{10 * time.Millisecond, 300 * time.Millisecond} {
		reads := map[int]int64{}
		for _, readers := range []int{1, 100} {
			live(t, func(t *testing.T, w *world) {
				w.hold("a", 3, nil)
				w.set(func() { w.slow = slow })
				w.state()
				w.lists.Store(0)
				for range 30 * readers {
					pass(2 * time.Second / time.Duration(readers))
					w.state()
				}
				reads[readers] = w.lists.Load()
				pass(time.Minute)
				if late := w.lists.Load() - reads[readers]; late > 5 {
					t.Errorf("%d reads after the last reader left", late)
				}
			})
		}
		if reads[1] != reads[100] || reads[1] < 15 {
			t.Errorf("reads of %s in a minute, by readers: %v", slow, reads)
		}
	}
}

func TestNothingIsReadWhileNobodyLooks(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.hold("a", 3, nil)
		w.lists.Store(0)
		pass(time.Hour)
		if n := w.lists.Load(); n != 0 {
			t.Errorf("%d reads", n)
		}
	})
}

func TestAReaderWaitsTwoSecondsForTheFirstReadAloneAndSeesTheLastOtherwise(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.hold("a", 3, nil)
		w.set(func() { w.slow = 3 * time.Second })
		begun := time.Now()
		if _, n := w.state(); n.Cells != "" || time.Since(begun) != 2*time.Second {
			t.Errorf("after %s: %+v", time.Since(begun), n)
		}
		if _, err := w.view.Workers(canceled(t), "", "orders", 0, 1); !errors.Is(err, view.ErrUnknown) {
			t.Errorf("a reader who left: %v", err)
		}
		pass(2 * time.Second)
		if _, n := w.state(); n.Held != 1 || n.Took != 3000 {
			t.Errorf("%+v", n)
		}
		w.set(func() { w.away = true })
		pass(29 * time.Second)
		w.state()
		pass(time.Second)
		s, n := w.state()
		if n.Held != 1 || !strings.Contains(n.Error, "fault") || len(w.view.Censuses()) != 0 {
			t.Errorf("a store that went away: %+v", n)
		}
		if !has(s, "soon", "orders", "store-unavailable") {
			t.Errorf("problems are %+v", s.Problems)
		}
	})
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func has(s view.State, severity, about, entry string) bool {
	for _, p := range s.Problems {
		if p.Severity == severity && p.About == about && p.Entry == entry && p.Do != "" && strings.HasSuffix(p.Text, ".") {
			return true
		}
	}
	return false
}

func TestEachWorkerIDHasItsLetterAndItsClaimantsError(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.hold("me", 0, nil)
		w.hold("a", 1, nil)
		if err := w.hold("a", 2, nil).Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.operate(w.quarantine(true), 3)
		w.operate(w.raise(), 4)
		s, n := w.state()
		if n.Bin != 1 || len(n.Cells) != 1024 || n.Cells[:6] != "oh.qr." || n.Capacity != "1024" || n.Counts["free"] != 1020 || n.Counts["foreign"] != 0 || len(n.Rest) != 1 || n.Rest[0].Number != 3 {
			t.Errorf("%+v", n)
		}
		if n.Held != 2 || len(n.Holders) != 2 || !n.Holders[0].Ours || n.Holders[1].Host != "a" || n.Holders[1].Window != 30_000 || len(s.Problems) > 0 {
			t.Errorf("%+v", s)
		}
		workers, err := w.view.Workers(t.Context(), "", "orders", 0, 1e9)
		if err != nil || len(workers) != view.MaxRange {
			t.Fatalf("%d workers: %v", len(workers), err)
		}
		for number, want := range []string{"held", "held", "free", "quarantined", "resting", "free"} {
			if x := workers[number]; x.State != want || x.Number != int64(number) || (x.Claimant == "") != (want == "free") {
				t.Errorf("%+v", x)
			}
		}
		if _, err := w.view.Workers(t.Context(), "", "invoices", 0, 1); !errors.Is(err, view.ErrUnknown) {
			t.Errorf("another namespace: %v", err)
		}
	})
}

// verb is a verb of an operator on one worker id.
type verb func(*roster.Roster, *roster.Desk, roster.Worker) (roster.Worker, error)

// operate uses a verb on some worker ids.
func (w *world) operate(do verb, numbers ...int64) {
	w.t.Helper()
	r, err := roster.Open(w.t.Context(), roster.Config{Store: w.store, Namespace: "orders"})
	if err == nil {
		err = r.Operate(w.t.Context(), roster.Patience{}, func(d *roster.Desk) error {
			for _, number := range numbers {
				if _, err := r.Insist(w.t.Context(), number, func(x roster.Worker) (roster.Worker, error) { return do(r, d, x) }); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// quarantine sets a worker id's quarantine.
func (w *world) quarantine(on bool) verb {
	return func(_ *roster.Roster, d *roster.Desk, x roster.Worker) (roster.Worker, error) {
		return d.Quarantine(w.t.Context(), x, on)
	}
}

// raise raises a worker id's floor to an hour from now.
func (w *world) raise() verb {
	return func(r *roster.Roster, d *roster.Desk, x roster.Worker) (roster.Worker, error) {
		return d.Raise(w.t.Context(), x, r.Layout().TickAt(time.Now().Add(time.Hour)))
	}
}

func TestACellShowsTheMostTellingOfItsWorkerIDs(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		layout, err := snowfence.ParseLayout("ms40-worker22-seq1@1990-01-01")
		if err != nil {
			t.Fatal(err)
		}
		config := roster.Config{Store: w.store, Namespace: "orders"}
		if _, err := roster.Create(t.Context(), config, layout, nil); err != nil {
			t.Fatal(err)
		}
		w.operate(w.quarantine(true), 5)
		w.operate(w.raise(), 1, 1024)
		if _, n := w.state(); n.Bin != 1024 || len(n.Cells) != view.MaxCells || n.Cells[:3] != "qr." || n.Capacity != "4194304" {
			t.Errorf("bins of %d, %q", n.Bin, n.Cells[:3])
		}
		workers, err := w.view.Workers(t.Context(), "", "orders", 4, 8)
		if err != nil || len(workers) != 5 || workers[1].State != "quarantined" || workers[0].State != "" || workers[4].State != "free" {
			t.Errorf("%+v, %v", workers, err)
		}
	})
}

func TestAMillionWorkerIDsWith5000HoldersAreBelow200KB(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		layout, err := snowfence.ParseLayout("ms39-worker20-seq4@1990-01-01")
		if err != nil {
			t.Fatal(err)
		}
		r, err := roster.Create(t.Context(), roster.Config{Store: w.store, Namespace: "orders"}, layout, nil)
		if err != nil {
			t.Fatal(err)
		}
		const holders = 5000
		now, l := time.Now(), r.Layout()
		for i := range int64(holders) {
			process := stored.Process{Host: fmt.Sprintf("host-%d.region-1.cloud.example", i), PID: 1000, Version: "v0.9.0", Started: now}
			value, err := stored.Register{
				Layout: l.String(), Incarnation: r.Record().Incarnation, Term: 1, Floor: l.TickAt(now),
				Holder: fmt.Sprintf("%032x", i), Write: fmt.Sprintf("%016x", i), Clock: now,
			}.Extended(l, now, time.Hour, process).Encode()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.store.Swap(t.Context(), stored.RegisterKey("orders", l, i*l.Workers()/holders), "", value); err != nil {
				t.Fatal(err)
			}
		}
		s, n := w.state()
		if text, err := json.Marshal(s); err != nil || n.Held != holders || len(n.Holders) != view.MaxHolders || len(text) > 200_000 {
			t.Errorf("%d held, %d shown, %d bytes: %v", n.Held, len(n.Holders), len(text), err)
		}
	})
}

func TestAHoldersClockIsKnownFromTwoLooks(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.hold("me", 0, nil)
		pass(time.Hour)
		w.hold("a", 1, nil)
		w.hold("b", 2, ahead{snowfence.SystemClock(), 6 * time.Minute})
		_, n := w.state()
		if n.Holders[0].Offset != nil || n.Median != nil || n.Clock != "median" {
			t.Errorf("after one look: %+v", n)
		}
		for range 15 {
			pass(time.Second)
			w.view.State(t.Context())
		}
		s, n := w.state()
		for i, want := range []float64{0, 0, 6 * 60_000} {
			x := n.Holders[i]
			if x.Offset == nil || x.Error > 1000 || x.Error < 100 || *x.Offset-want > 2*x.Error || want-*x.Offset > 2*x.Error {
				t.Errorf("%+v", x)
			}
		}
		if n.Median == nil || *n.Median > 1000 || !has(s, "soon", "orders", "clock-off") || len(s.Problems) != 1 {
			t.Errorf("median %v, problems %+v", n.Median, s.Problems)
		}
	})
}

// TestAHolderWhoseClockIsBehindByMoreThanItsWindowIsShown has a holder whose register seems to be free by every other clock.
func TestAHolderWhoseClockIsBehindByMoreThanItsWindowIsShown(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		pass(time.Hour)
		w.hold("a", 1, nil)
		w.hold("me", 3, nil)
		late := w.hold("b", 2, ahead{snowfence.SystemClock(), -3 * time.Minute})
		look := func() (s view.State, n view.Namespace) {
			for range 15 {
				pass(time.Second)
				s, n = w.state()
			}
			return s, n
		}
		s, n := look()
		if x := n.Holders[1]; n.Cells[:5] != ".hso." || x.Number != 2 || !x.Silent || x.Offset == nil || *x.Offset > -170_000 || !has(s, "soon", "orders", "clock-off") {
			t.Errorf("%q %+v, problems %+v", n.Cells[:5], x, s.Problems)
		}
		_ = late.Close(t.Context())
		if _, n := look(); n.Cells[:5] != ".h.o." || len(n.Holders) != 2 {
			t.Errorf("after its end: %q %+v", n.Cells[:5], n.Holders)
		}
	})
}

func TestAHolderThatEndsAndGivesNothingBackIsShownForAnHour(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.hold("a", 1, nil)
		dead := w.hold("b", 2, nil)
		w.set(func() { w.away = true })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := dead.Close(ctx); err == nil {
			t.Fatal("it gave its worker id back")
		}
		w.set(func() { w.away = false })
		pass(45 * time.Second)
		s, n := w.state()
		if n.Ended != 1 || n.Cells[:4] != ".he." || len(n.Holders) != 1 || len(n.Rest) != 1 || !n.Rest[0].Ended || n.Rest[0].Host != "b" || n.Rest[0].State != "free" || !has(s, "soon", "orders", "silent-holder") {
			t.Errorf("%q %+v %+v", n.Cells[:4], n.Rest, s.Problems)
		}
		again := w.hold("b", 5, nil) // the same process
		pass(time.Second)
		if _, n := w.state(); n.Ended != 0 || n.Cells[:6] != ".h...h" {
			t.Errorf("while it holds another: %q %+v", n.Cells[:6], n.Rest)
		}
		_ = again.Close(t.Context())
		pass(time.Hour)
		if s, n := w.state(); n.Ended != 0 || n.Cells[:4] != ".h.." || len(n.Rest) != 0 || len(s.Problems) > 0 {
			t.Errorf("an hour later: %q %+v %+v", n.Cells[:4], n.Rest, s.Problems)
		}
	})
}

func TestASilentHolderIsShownAfterThisDaemonsAndIsAProblem(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		pass(time.Hour)
		w.hold("a", 1, nil)
		w.hold("b", 2, ahead{snowfence.SystemClock(), -25 * time.Second}) // its writes are old at once
		w.hold("me", 3, nil)
		s, n := w.state()
		if n.Silent != 1 || n.Cells[:5] != ".hso." || n.Holders[0].Number != 3 || n.Holders[1].Number != 2 || !n.Holders[1].Silent || !has(s, "soon", "orders", "silent-holder") {
			t.Errorf("%+v", n)
		}
	})
}

func TestEventsAreBoundedAndKnowTheirEntry(t *testing.T) {
	var events view.Events
	var passed strings.Builder
	log := slog.New(events.Handler(slog.NewTextHandler(&passed, &slog.HandlerOptions{Level: slog.LevelWarn}))).With("namespace", "orders")
	log.Debug("is not kept")
	for range view.MaxEvents + 5 {
		log.Info("claimed a worker id", "until", time.Unix(0, 0))
	}
	long := make([]any, 0, 60)
	for range 30 {
		long = append(long, strings.Repeat("k", 400), strings.Repeat("ü", 400))
	}
	log.WithGroup("g").Warn(strings.Repeat("x", 1000), long...)
	log.Error("lost a worker id", "error", errors.New("another process extends it: a copy of this one"), slog.Group("in", "n", 1))
	w := &world{t: t}
	s := w.still(&events, nil)
	if len(s.Events) != view.MaxEvents || s.Events[0].Number != view.MaxEvents+6 || s.Events[199].Number != 7 {
		t.Fatalf("%d events, from %d on", len(s.Events), s.Events[0].Number)
	}
	lost, cut, claim := s.Events[0], s.Events[1], s.Events[2]
	if lost.Level != "ERROR" || lost.Entry != "copied" || len(lost.Fields) != 3 || lost.Fields[1][0] != "error" || lost.Fields[2] != [2]string{"in", "[n=1]"} {
		t.Errorf("%+v", lost)
	}
	if len(cut.Text) > 300 || len(cut.Fields) != 16 || len(cut.Fields[9][0]) > 300 || len(cut.Fields[9][1]) > 300 || !json.Valid([]byte(`"`+cut.Fields[9][1]+`"`)) {
		t.Errorf("%+v", cut)
	}
	if claim.Entry != "claim" || claim.Fields[0] != [2]string{"namespace", "orders"} || claim.Fields[1][1] != "1970-01-01T00:00:00Z" {
		t.Errorf("%+v", claim)
	}
	if n := strings.Count(passed.String(), "\n"); n != 2 {
		t.Errorf("%d lines were passed on", n)
	}
	if !has(s, "unsafe", "orders", "copied") {
		t.Errorf("problems are %+v", s.Problems)
	}
	for range view.MaxEvents {
		log.Warn(strings.Repeat("x", 1000), long...)
	}
	s = w.still(&events, nil)
	if text, err := json.Marshal(s.Events); err != nil || len(text) > 2*view.MaxEventText || len(s.Events) == 0 {
		t.Errorf("%d events of %d bytes, %v", len(s.Events), len(text), err)
	}
}

func TestIDsThatMayRepeatStayAProblemUntilTheProcessEnds(t *testing.T) {
	var events view.Events
	all := slog.New(events.Handler(slog.DiscardHandler))
	users, orders := all.With("namespace", "users"), all.With("namespace", "orders")
	users.Warn("made a new namespace")
	for _, log := range []*slog.Logger{users, orders, orders} {
		log.Error("lost a worker id", "error", errors.New("another process extends it: a copy of this one"))
	}
	all.With("namespace", "shop").Error("lost a worker id", "error", errors.New("the register of worker 2 is gone: the store went back"))
	orders.Info("made a new namespace") // the first start
	for range 2 * view.MaxEvents {
		all.Info("audit: a worker id is lent")
	}
	s := (&world{t: t}).still(&events, nil)
	var found []string
	for _, p := range s.Problems {
		found = append(found, p.Severity+" "+p.About+" "+p.Entry)
	}
	if want := []string{"unsafe shop began-empty", "unsafe orders copied", "unsafe users copied", "unsafe users began-empty"}; !slices.Equal(found, want) {
		t.Errorf("problems are %q, want %q", found, want)
	}
}

func TestChangesOfHandsAreKeptFromOneLookToTheNext(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		pass(time.Hour)
		look := func() []view.Change {
			pass(3 * time.Second)
			w.view.State(t.Context())
			pass(time.Second)
			_, n := w.state()
			return n.Changes
		}
		gives, dies, freed := w.hold("a", 1, nil), w.hold("b", 2, nil), w.hold("c", 3, nil)
		if all := look(); all == nil || len(all) != 0 {
			t.Errorf("a first look shows changes: %+v", all)
		}
		_ = gives.Close(t.Context())
		w.operate(func(_ *roster.Roster, d *roster.Desk, x roster.Worker) (roster.Worker, error) {
			return d.Release(t.Context(), x)
		}, 3)
		w.operate(w.quarantine(true), 4)
		seen := time.Now()
		look()
		w.hold("d", 1, nil)
		w.operate(w.quarantine(false), 4)
		w.set(func() { w.away = true })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _ = dies.Close(ctx), freed.Close(ctx)
		w.set(func() { w.away = false })
		look()
		pass(45 * time.Second)
		var got []string
		for _, c := range look() {
			if since := c.Seen.Sub(seen); since < -time.Second || since > 2*time.Minute {
				t.Errorf("%+v was seen %s after it was looked for", c, since)
			}
			got = append(got, fmt.Sprintf("%d %s: %s, %s", c.Worker, c.What, c.From, c.To))
		}
		want := "2 ended: pid 7 on host b, \n" +
			"1 claimed: , pid 7 on host d\n4 free again: , \n" +
			"1 free again: pid 7 on host a, \n3 free again: pid 7 on host c, \n4 quarantined: , "
		if got := strings.Join(got, "\n"); got != want {
			t.Errorf("changes are\n%s\nwant\n%s", got, want)
		}
	})
}

func TestChangesOfANamespaceAreBounded(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.hold("a", 1000, nil)
		w.state()
		for number := range int64(view.MaxChanges + 10) {
			w.operate(w.quarantine(true), number)
		}
		pass(3 * time.Second)
		w.state()
		pass(time.Second)
		if _, n := w.state(); len(n.Changes) != view.MaxChanges || n.Changes[0].Worker != 0 || n.Changes[0].What != "quarantined" {
			t.Errorf("%d changes: %+v", len(n.Changes), n.Changes)
		}
	})
}

func TestEachProblemOfAGeneratorIsSaidWithItsRemedy(t *testing.T) {
	now := time.Now()
	lease := &kind.Lease{Layout: snowfence.DefaultLayout(), Term: 1, Left: time.Minute, ClockCompared: true}
	behind := *lease
	behind.ClockOffset = -6 * time.Minute
	barred := &fence.HeldError{Occupant: stored.Occupant{Worker: 7, Standing: stored.Quarantined}}
	trouble := &front.Trouble{Text: "the store does not answer", Since: now, Until: now.Add(time.Minute)}
	for name, x := range map[string]struct {
		status          front.Status
		severity, entry string
	}{
		"well":                  {front.Status{Lease: lease}, "", ""},
		"stands by":             {front.Status{Problem: front.Standby.Problem(nil), StandsBy: true}, "", ""},
		"can't take over":       {front.Status{Problem: front.Standby.Problem(errors.New("the clock is 11m off"))}, "stopped", "lease-unavailable"},
		"has no store":          {front.Status{Trouble: trouble, Problem: front.Standby.Problem(errors.New("the store takes no writes"))}, "stopped", "store-unavailable"},
		"ends a pair's term":    {front.Status{Lease: lease, Trouble: trouble, Problem: front.Standby.Problem(nil)}, "soon", "store-unavailable"},
		"was stopped of a pair": {front.Status{Problem: front.Standby.Problem(errors.New("an operator quarantined worker 0"))}, "stopped", "quarantined"},
		"refused":               {front.Status{Problem: front.Refused.Problem(nil)}, "stopped", "refused"},
		"ends its term":         {front.Status{Lease: lease, Trouble: trouble, Problem: front.LeaseUnavailable.Problem(nil)}, "soon", "store-unavailable"},
		"was stopped":           {front.Status{Problem: front.LeaseUnavailable.Problem(errors.New("an operator quarantined worker 2"))}, "stopped", "quarantined"},
		"finds none":            {front.Status{Problem: front.Starting.Problem(fence.ErrNoWorker)}, "stopped", "no-worker"},
		"is pinned to one":      {front.Status{Problem: front.Starting.Problem(barred)}, "stopped", "quarantined"},
		"lost its clock":        {front.Status{Lease: &behind, Problem: front.ClockUnsafe.Problem(errors.New("behind"))}, "stopped", "clock-unsafe"},
		"goes on":               {front.Status{Lease: lease, Trouble: trouble}, "soon", "store-unavailable"},
		"ends soon":             {front.Status{EndsSoon: true, Ends: now}, "soon", "ends-soon"},
		"has ended":             {front.Status{EndsSoon: true, Problem: front.NumbersUsedUp.Problem(nil)}, "stopped", "numbers-used-up"},
		"is behind":             {front.Status{Lease: &behind}, "soon", "clock-off"},
		"went back":             {front.Status{Problem: front.CounterChanged.Plain()}, "unsafe", "counter-changed"},
	} {
		x.status.Name = "g"
		w := &world{t: t, statuses: []front.Status{x.status}}
		s := w.still(&w.events, nil)
		if len(s.Problems) != min(len(x.severity), 1) || x.severity != "" && !has(s, x.severity, "g", x.entry) {
			t.Errorf("%s: %+v", name, s.Problems)
		}
	}
}

func TestEveryProblemsTypeOfAStatusHasAnEntry(t *testing.T) {
	anchors := strings.Join(view.Anchors(), " ") + " "
	for _, of := range []front.Type{
		front.Starting, front.Refused, front.Standby, front.Stopped, front.LeaseUnavailable, front.StoreUnavailable, front.ClockUnsafe, front.Saturated,
		front.HorizonPassed, front.NumbersUsedUp, front.CounterChanged, front.NoWorker, front.Internal,
	} {
		if !strings.Contains(anchors, of.String()+" ") {
			t.Errorf("%s has no entry", of)
		}
	}
}

func TestRatesAreOfTheLastTenSecondsAndTheHistoryOfAnHour(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		minted := func(n uint64) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.statuses = []front.Status{{Name: "users", IDs: n, Problems: map[front.Type]uint64{front.StoreUnavailable: n / 10}}}
			w.requests = map[string]view.Requests{"": {Answered: n / 10, Failed: n / 100, Took: time.Duration(n/10) * 3 * time.Millisecond}}
		}
		for i := range uint64(1100) { // an hour and a half
			minted(min(i, 1000) * 500)
			pass(5 * time.Second)
			if i == 30 || i == 800 || i == 1050 {
				for range 12 {
					w.view.State(t.Context())
				}
				s := w.view.State(t.Context())
				if rate, want := s.Generators[0].Rate, map[uint64]float64{30: 100, 800: 100, 1050: 0}[i]; rate < want*.9 || rate > want*1.1 {
					t.Errorf("step %d: %f", i, rate)
				}
			}
		}
		h := w.view.History()
		if len(h.Times) != 360 || h.Times[359]-h.Times[0] != 3590 || len(h.Rates["users"]) != 360 {
			t.Fatalf("%d points", len(h.Times))
		}
		if rate, refused, ms, errs := *h.Rates["users"][10], *h.Refused["users"][10], *h.StoreMS[""][10], *h.Errors[""][10]; rate != 100 || refused != 10 || ms != 3 || errs != 10 {
			t.Errorf("%v ids, %v refused, %v ms, %v errors", rate, refused, ms, errs)
		}
		if last := h.StoreMS[""][359]; last != nil {
			t.Errorf("no request took %v ms", *last)
		}
	})
}

func TestNewestIDIsAtLeastEachMintedOne(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		h := w.hold("me", 5, nil)
		id, err := h.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		uuid8, err := snowfence.PresetByName("uuid8")
		if err != nil {
			t.Fatal(err)
		}
		l := h.Status()
		statuses := []front.Status{
			{Name: "orders", Form: kind.Number, Lease: &kind.Lease{Layout: l.Layout, Worker: l.Worker, Term: l.Term, Left: l.Left, Until: l.Until, Generator: l.Generator}},
			{Name: "users", Form: kind.Number, IDs: 1, Counter: &kind.Counter{Name: "users", Next: 41, Limit: 100, Held: []kind.Range{{First: 31, Count: 10}}}},
			{Name: "daily", Form: kind.Text, Counter: &kind.Counter{Name: "daily", Next: 3, Limit: 100}},
			{Name: "wide", Form: kind.Wide, Lease: &kind.Lease{Layout: uuid8.Layout, Term: 1, Left: 1, Generator: snowfence.GeneratorStatus{Reserved: 2}}},
		}
		w.set(func() { w.statuses = statuses })
		s, _ := w.state()
		last, err := snowfence.Parse(s.Generators[0].Last)
		if err != nil || last < id || last-id > 1<<30 || *s.Generators[0].Worker != 5 {
			t.Errorf("%d minted, the newest is %+v: %v", id, s.Generators[0], err)
		}
		if c := s.Generators[1]; c.Last != "40" || c.Counter.InHand != "10" || c.Counter.Guard != "a mark in etcd" || s.Generators[2].Last != "" || len(s.Generators[3].Last) != 36 {
			t.Errorf("%+v", s.Generators)
		}
	})
}

func TestStateShowsTheLatestRefusalsAndTheFlagsOfCommands(t *testing.T) {
	w := &world{t: t, statuses: []front.Status{{Name: "g", Namespace: "orders", Problem: front.StoreUnavailable.Problem(nil)}}}
	for i := range uint64(view.MaxRefusals + 50) {
		w.refusals = append(w.refusals, front.Refusal{Generator: "g", Type: front.RateLimited, Count: 1 << 60, Token: fmt.Sprint(i)})
	}
	s := w.still(&w.events, map[view.Place]string{{Namespace: "orders"}: " --config '/etc/a b.yaml'"})
	text, err := json.Marshal(s.Refusals[0])
	if want := `{"generator":"g","problem":"rate-limited","count":"1152921504606846976","last":"0001-01-01T00:00:00Z","token":"0"}`; string(text) != want || err != nil || len(s.Refusals) != view.MaxRefusals {
		t.Errorf("%d refusals, the first is %s, want %s: %v", len(s.Refusals), text, want, err)
	}
	if do := s.Problems[0].Do; !strings.HasSuffix(do, ": `snowfence doctor --config '/etc/a b.yaml'`.") {
		t.Errorf("the problem's remedy is %q", do)
	}
}
