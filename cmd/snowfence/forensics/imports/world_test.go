package imports_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/imports"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/memstore"
)

// begun is when a synctest bubble begins; the old system has run for a day then.
var begun = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// oldLayout is like Leaf's, of an earlier time.
func oldLayout() snowfence.Layout {
	l := snowfence.DefaultLayout()
	l.Epoch = begun.Add(-24 * time.Hour)
	return l
}

// offset is a clock that is off.
type offset struct {
	snowfence.Clock
	by time.Duration
}

func (o offset) Wall() time.Time { return o.Clock.Wall().Add(o.by) }

func system() snowfence.Clock { return snowfence.SystemClock() }

func planned(t *testing.T, stopped time.Time, workers ...int64) imports.Plan {
	t.Helper()
	f := imports.Facts{Layout: oldLayout(), StoppedAt: stopped, Margin: imports.DefaultMargin, Ahead: imports.DefaultAhead, Now: stopped}
	for _, w := range workers {
		f.Sightings = append(f.Sightings, imports.Sighting{Worker: w, Where: "list"})
	}
	r, err := imports.NewPlan(f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// draft makes the namespace and a plan for it.
func draft(t *testing.T, s store.Store, r imports.Plan) (*roster.Roster, imports.Plan) {
	t.Helper()
	namespace, err := roster.Create(t.Context(), roster.Config{Store: s}, r.Layout, nil)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := imports.Draft(t.Context(), namespace, r)
	if err != nil {
		t.Fatal(err)
	}
	return namespace, plan
}

// take makes and carries out a take-over, and returns its actions.
func take(t *testing.T, s store.Store, r imports.Plan) ([]imports.Action, error) {
	t.Helper()
	namespace, plan := draft(t, s, r)
	var done []imports.Action
	err := imports.Apply(t.Context(), namespace, plan, roster.Patience{}, func(s imports.Step) { done = append(done, s.Action) })
	if err == nil {
		for i, s := range plan.Steps {
			if done[i] != s.Action {
				t.Errorf("worker %d: planned %s, done %s", s.Worker, s.Action, done[i])
			}
		}
	}
	return done, err
}

func claim(t *testing.T, s store.Store, worker int64, by time.Duration, changes ...func(*fence.Config)) (*fence.Holder, error) {
	t.Helper()
	c := fence.Config{Store: s, Layout: oldLayout(), Worker: &worker, Clock: offset{system(), by}, Process: fence.Process{Host: fmt.Sprint("host-", by), PID: 1}}
	for _, change := range changes {
		change(&c)
	}
	return fence.Open(t.Context(), c)
}

func shut(t *testing.T, h *fence.Holder) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := h.Close(ctx); err != nil {
		t.Error(err)
	}
}

// oldIDs are all ids that an old system's worker issued in its last moments, with a
// clock that was ahead: every sequence of its last ticks, and of some before.
func oldIDs(t *testing.T, worker int64, last time.Time, into map[snowfence.ID]bool) {
	t.Helper()
	for _, back := range []time.Duration{0, time.Millisecond, 2 * time.Millisecond, time.Second, time.Hour, time.Hour + time.Millisecond} {
		for sequence := range int64(4096) {
			into[compose(t, oldLayout(), last.Add(-back), worker, sequence)] = true
		}
	}
}

// floored checks that every worker id of a take-over has its floor.
func floored(t *testing.T, memory *memstore.Memory, r imports.Plan) {
	t.Helper()
	for _, s := range r.Steps {
		if w := read(t, memory, s.Worker); !w.Exists || !w.Floored(r.Floor) {
			t.Errorf("worker %d has no floor: %s", s.Worker, w)
		}
	}
}

func read(t *testing.T, memory *memstore.Memory, worker int64) roster.Worker {
	t.Helper()
	r, err := roster.Open(t.Context(), roster.Config{Store: memory.Client()})
	if err != nil {
		t.Fatal(err)
	}
	w, err := r.Worker(t.Context(), worker)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// dump is everything that is stored.
func dump(t *testing.T, memory *memstore.Memory) string {
	t.Helper()
	var lines []string
	for e, err := range memory.Client().List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s %s %s", e.Key, e.Version, e.Value))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// pass lets time pass in a synctest bubble.
func pass(d time.Duration) {
	expired, _ := snowfence.SystemClock().After(d)
	<-expired
}
