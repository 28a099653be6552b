package roster_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

// begun is when a synctest bubble begins.
var begun = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// testLayout has an epoch a day before a synctest bubble begins, and 16 workers
// in 4 datacenters.
func testLayout() snowfence.Layout {
	l := snowfence.DefaultLayout()
	l.Epoch = begun.Add(-24 * time.Hour)
	l.Fields = []snowfence.Field{
		{Kind: snowfence.Time, Bits: 41}, {Kind: snowfence.Datacenter, Bits: 2},
		{Kind: snowfence.Worker, Bits: 2}, {Kind: snowfence.Sequence, Bits: 12},
	}
	return l
}

// still is a system clock whose wall is set by hand.
type still struct {
	snowfence.Clock
	at *time.Time
}

func (s still) Wall() time.Time { return *s.at }

// world is a namespace in memory, with a clock that stands still.
type world struct {
	t      *testing.T
	memory *memstore.Memory
	store  store.Store
	now    time.Time
}

func newWorld(t *testing.T) *world {
	memory := memstore.New()
	return &world{t: t, memory: memory, store: memory.Client(), now: begun}
}

func (w *world) config() roster.Config {
	return roster.Config{
		Store: w.store, Clock: still{snowfence.SystemClock(), &w.now},
		Process: stored.Process{Host: "desk", PID: 1, Version: "test"},
	}
}

// roster creates the namespace, or opens it.
func (w *world) roster(datacenters ...int64) *roster.Roster {
	w.t.Helper()
	r, err := roster.Create(w.t.Context(), w.config(), testLayout(), datacenters)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// heldWorld has one worker id that is held, number 5.
func heldWorld(t *testing.T) (*world, *roster.Roster) {
	t.Helper()
	w := newWorld(t)
	r := w.roster()
	w.put(r, 5, w.register(r))
	return w, r
}

// faultyWorld is such a world on a store that fails as the test sets.
func faultyWorld(t *testing.T) (*world, *roster.Roster, *faultstore.Store) {
	t.Helper()
	w, _ := heldWorld(t)
	s := faultstore.New(w.memory.Client(), nil, nil)
	w.store = s
	return w, w.roster(), s
}

// lossyWorld is a world on a store that can lose what it acknowledged, and that has a clock if now is there.
func lossyWorld(t *testing.T, loss time.Duration, now func() time.Time) *world {
	w := newWorld(t)
	w.memory = memstore.NewWith(memstore.Config{Loss: loss, Now: now})
	w.store = w.memory.Client()
	return w
}

// register is a register as a living holder has it, changed.
func (w *world) register(r *roster.Roster, changes ...func(*stored.Register)) stored.Register {
	n := r.Record()
	tick := r.Layout().TickAt(w.now)
	x := stored.Register{
		Layout: n.Layout, Incarnation: n.Incarnation, Term: 3, Floor: tick - 1000, Until: tick + 50_000,
		Holder: "0123456789abcdef0123456789abcdef", Write: "0123456789abcdef", Clock: w.now.Add(-10 * time.Second),
		Window: time.Minute, Process: stored.Process{Host: "host-a", PID: 7, Version: "1.0", Started: begun.Add(-time.Hour)},
	}
	for _, change := range changes {
		change(&x)
	}
	return x
}

// put writes a register as it is, whatever stands there.
func (w *world) put(r *roster.Roster, number int64, x stored.Register) {
	w.t.Helper()
	value, err := x.Encode()
	if err != nil {
		w.t.Fatal(err)
	}
	w.putBytes(stored.RegisterKey(r.Name(), r.Layout(), number), value)
}

func (w *world) putBytes(key string, value []byte) {
	w.t.Helper()
	entry, err := w.memory.Client().Get(w.t.Context(), key)
	if err != nil {
		entry.Version = ""
	}
	if _, err := w.memory.Client().Swap(w.t.Context(), key, entry.Version, value); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(r *roster.Roster, number int64) roster.Worker {
	w.t.Helper()
	x, err := r.Worker(w.t.Context(), number)
	if err != nil {
		w.t.Fatal(err)
	}
	return x
}

// operate uses one verb of a desk, and waits until the write is certain.
func operate(ctx context.Context, r *roster.Roster, do func(*roster.Desk) (roster.Worker, error)) (w roster.Worker, err error) {
	err = r.Operate(ctx, roster.Patience{}, func(d *roster.Desk) (err error) {
		w, err = do(d)
		return err
	})
	return w, err
}

func release(ctx context.Context, r *roster.Roster, w roster.Worker) (roster.Worker, error) {
	return operate(ctx, r, func(d *roster.Desk) (roster.Worker, error) { return d.Release(ctx, w) })
}

func quarantine(ctx context.Context, r *roster.Roster, w roster.Worker, mark bool) (roster.Worker, error) {
	return operate(ctx, r, func(d *roster.Desk) (roster.Worker, error) { return d.Quarantine(ctx, w, mark) })
}

func raise(ctx context.Context, r *roster.Roster, w roster.Worker, floor snowfence.Tick) (roster.Worker, error) {
	return operate(ctx, r, func(d *roster.Desk) (roster.Worker, error) { return d.Raise(ctx, w, floor) })
}

func released(x *stored.Register)    { x.Holder = "" }
func quarantined(x *stored.Register) { x.Quarantined = true }

// hold opens a holder on the store, pinned to a worker number.
func hold(t *testing.T, s store.Store, number int64, changes ...func(*fence.Config)) (*fence.Holder, error) {
	c := fence.Config{Store: s, Layout: testLayout(), Worker: &number, Window: 6 * time.Second, Process: fence.Process{Host: "host-a", PID: 7}}
	for _, change := range changes {
		change(&c)
	}
	return fence.Open(t.Context(), c)
}

// pass lets time pass in a synctest bubble.
func pass(d time.Duration) {
	expired, _ := snowfence.SystemClock().After(d)
	<-expired
}

// damaged is a store that can't read some keys: a list ends at the first of them.
type damaged struct {
	store.Store
	keys map[string]bool
}

func (d damaged) Get(ctx context.Context, key string) (store.Entry, error) {
	if d.keys[key] {
		return store.Entry{}, store.ErrDamaged
	}
	return d.Store.Get(ctx, key)
}

func (d damaged) List(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range d.Store.List(ctx, prefix) {
			if err == nil && d.keys[e.Key] {
				yield(store.Entry{}, store.ErrDamaged)
				return
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
