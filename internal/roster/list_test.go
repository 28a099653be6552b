package roster_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/memstore"
)

// keys lists the keys that Workers yields, with their states.
func keys(t *testing.T, r *roster.Roster) map[string]roster.State {
	t.Helper()
	found := map[string]roster.State{}
	for w, err := range r.Workers(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := found[w.Key]; twice && w.Number != roster.Stray {
			t.Errorf("%s comes twice", w.Key)
		}
		found[w.Key] = w.State
	}
	return found
}

func TestEveryRegisterIsListedAsWhatItIs(t *testing.T) {
	w := newWorld(t)
	r := w.roster()
	horizon := r.Layout().HorizonTick()
	prefix := stored.RegisterPrefix(r.Name())
	for number, change := range map[int64]func(*stored.Register){
		0: func(*stored.Register) {},
		1: released,
		2: func(x *stored.Register) { released(x); x.Until = x.Floor },
		3: quarantined,
		4: func(x *stored.Register) { x.Layout = "ms41-seq12@2026-01-01T00:00:00Z" },
		5: func(x *stored.Register) { x.Until = horizon },
	} {
		w.put(r, number, w.register(r, change))
	}
	w.putBytes(prefix+"06", []byte("{}"))
	w.putBytes(prefix+"16", []byte("{}"))
	w.putBytes(prefix+"7", []byte("x"))
	want := map[string]roster.State{
		prefix + "00": roster.Held, prefix + "01": roster.Resting, prefix + "02": roster.Free, prefix + "03": roster.Quarantined,
		prefix + "04": roster.Foreign, prefix + "05": roster.UsedUp, prefix + "06": roster.Unreadable,
		prefix + "16": roster.Unreadable, prefix + "7": roster.Unreadable,
	}
	if got := keys(t, r); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	census := r.Census()
	for x, err := range r.Workers(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		r.Count(&census, x)
	}
	counts := map[roster.State]int64{roster.Free: 10, roster.Held: 1, roster.Resting: 1, roster.Quarantined: 1, roster.Foreign: 1, roster.UsedUp: 1, roster.Unreadable: 1}
	if fmt.Sprint(census.Counts) != fmt.Sprint(counts) || census.Taken() != 6 || census.Outside != 2 || census.Registers != 9 {
		t.Errorf("census %+v", census)
	}
}

func TestRegistersBehindDamageAreListedAndDamageIsShown(t *testing.T) {
	for _, broken := range [][]int64{{0}, {7}, {15}, {0, 15}, {3, 4, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}} {
		w := newWorld(t)
		r := w.roster()
		for n := range r.Layout().Workers() {
			w.put(r, n, w.register(r))
		}
		bad := damaged{w.memory.Client(), map[string]bool{}}
		for _, n := range broken {
			bad.keys[stored.RegisterKey(r.Name(), r.Layout(), n)] = true
		}
		w.store = bad
		r = w.roster()
		found := keys(t, r)
		if len(found) != 16 {
			t.Errorf("damage at %v: %d of 16 are listed: %v", broken, len(found), found)
		}
		for key, state := range found {
			if bad.keys[key] != (state == roster.Unreadable) {
				t.Errorf("damage at %v: %s is %s", broken, key, state)
			}
		}
		if x := w.read(r, broken[0]); x.State != roster.Unreadable || !errors.Is(x.Damage, store.ErrDamaged) {
			t.Errorf("damage at %v: read %v", broken, x)
		}
	}
}

func TestDamageUnderAKeyThatIsNoWorkersIsShownToo(t *testing.T) {
	for _, suffix := range []string{"x", "07x", "0x"} {
		w := newWorld(t)
		r := w.roster()
		for n := range r.Layout().Workers() {
			w.put(r, n, w.register(r))
		}
		stray := stored.RegisterPrefix(r.Name()) + suffix
		w.putBytes(stray, []byte("{}"))
		w.store = damaged{w.memory.Client(), map[string]bool{stray: true}}
		r = w.roster()
		workers, strays := map[int64]bool{}, 0
		for x, err := range r.Workers(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if x.Number == roster.Stray {
				strays++
				continue
			}
			if x.State != roster.Held || workers[x.Number] {
				t.Errorf("%s: worker %d is %s, twice: %v", suffix, x.Number, x, workers[x.Number])
			}
			workers[x.Number] = true
		}
		if len(workers) != 16 || strays != 1 {
			t.Errorf("%s: %d workers and %d strays", suffix, len(workers), strays)
		}
	}
}

// endless is a store whose list does not end.
type endless struct {
	store.Store
	entry  store.Entry
	key    func(i int64) string
	listed int64
}

func (e *endless) List(context.Context, string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for i := int64(0); ; i++ {
			e.listed++
			entry := e.entry
			entry.Key = e.key(i)
			if !yield(entry, nil) {
				return
			}
		}
	}
}

func TestWorkersAreYieldedAsTheyAreRead(t *testing.T) {
	w := newWorld(t)
	r := w.roster()
	value, err := w.register(r).Encode()
	if err != nil {
		t.Fatal(err)
	}
	s := &endless{Store: w.store, entry: store.Entry{Value: value, Version: "1"}, key: func(i int64) string { return fmt.Sprintf("%s%d", stored.RegisterPrefix(r.Name()), 1000+i) }}
	w.store = s
	n := 0
	for _, err := range w.roster().Workers(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 3 {
			break
		}
	}
	if s.listed != 3 {
		t.Errorf("%d registers were read for 3", s.listed)
	}
}

// deaf is a store whose list waits for its context, after some registers.
type deaf struct{ store.Store }

func (d deaf) List(ctx context.Context, _ string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		<-ctx.Done()
		yield(store.Entry{}, ctx.Err())
	}
}

// TestKnownRegisterIsTakenUnlessItWasWrittenSince marks the known ones, so that they differ from
// decoded ones. All are judged by the present time.
func TestKnownRegisterIsTakenUnlessItWasWrittenSince(t *testing.T) {
	w := newWorld(t)
	r := w.roster()
	config := w.config()
	config.Known = map[int64]roster.Worker{}
	w.put(r, 1, w.register(r))
	w.put(r, 2, w.register(r))
	w.putBytes(stored.RegisterPrefix(r.Name())+"03", []byte("{}"))
	for number := range int64(4) {
		known := w.read(r, number)
		known.Register.Process.Host = "known"
		config.Known[number] = known
	}
	w.put(r, 2, w.register(r))
	w.now = w.now.Add(time.Hour)
	again, err := roster.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	want := map[int64]string{1: "known", 2: "host-a", 3: ""}
	for x, err := range again.Workers(t.Context()) {
		if host := x.Register.Process.Host; err != nil || host != want[x.Number] || x.State == roster.Held || (x.Damage != nil) != (x.Number == 3) {
			t.Errorf("worker %d of host %q is %s: %v, %v", x.Number, host, x.State, x.Damage, err)
		}
		delete(want, x.Number)
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
}

func TestDryRunShowsAWorkerIDThatWasNeverClaimedAsItWouldBe(t *testing.T) {
	w := newWorld(t)
	r := w.roster().Dry()
	after, err := quarantine(t.Context(), r, w.read(r, 1), true)
	if err != nil || after.State != roster.Quarantined {
		t.Errorf("got %s, %v", after, err)
	}
}

func TestListThatDoesNotMoveOnEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		r, err := roster.Create(t.Context(), roster.Config{Store: deaf{memory.Client()}}, testLayout(), nil)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for _, err = range r.Workers(t.Context()) {
		}
		if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "request timeout") || took > 20*time.Second {
			t.Errorf("after %s: %v", took, err)
		}
	})
}

func TestWorkersAreJudgedByTheStoresClock(t *testing.T) {
	engine := begun.Add(2 * time.Minute)
	memory := memstore.NewWith(memstore.Config{Now: func() time.Time { return engine }})
	now := begun
	w := &world{t: t, memory: memory, store: memory.Client(), now: now}
	r := w.roster()
	byStore, ahead := r.Reference()
	if !byStore || (ahead+2*time.Minute).Abs() > time.Second {
		t.Fatalf("reference: by store %v, host ahead %s", byStore, ahead)
	}
	w.put(r, 5, w.register(r)) // until 50 s from this host's now
	x := w.read(r, 5)
	if x.State != roster.Free {
		t.Errorf("worker is %s; by the store's clock its ticks are over", x)
	}
	if got, want := x.Age(), 2*time.Minute+10*time.Second; (got - want).Abs() > time.Second {
		t.Errorf("age %s, want %s", got, want)
	}
}

func TestSilenceAndAgeComeFromTheWritersClock(t *testing.T) {
	w := newWorld(t)
	r := w.roster()
	census := r.Census()
	for n, age := range []time.Duration{10 * time.Second, 39 * time.Second, 41 * time.Second, -5 * time.Second} {
		w.put(r, int64(n), w.register(r, func(x *stored.Register) {
			x.Clock = w.now.Add(-age)
			x.Until += snowfence.Tick(n % 2) // worker 1 before 3
		}))
		x := w.read(r, int64(n))
		if x.Age() != age || x.Silent() != (age > 40*time.Second) {
			t.Errorf("age %s, want %s; silent %v", x.Age(), age, x.Silent())
		}
		r.Count(&census, x)
	}
	if census.Latest == nil || census.Latest.Number != 1 {
		t.Errorf("the latest until is %+v", census.Latest)
	}
	if census.Silent != 1 || census.Youngest.Number != 3 || census.Oldest.Number != 1 {
		t.Errorf("census %+v", census)
	}
}

func TestClaimantIsToldWhatItWouldBeTold(t *testing.T) {
	w := newWorld(t)
	r := w.roster()
	tick := func(d time.Duration) snowfence.Tick { return r.Layout().TickAt(w.now.Add(d)) }
	tests := []struct {
		change func(*stored.Register)
		want   string
	}{
		{func(x *stored.Register) { released(x); x.Until = tick(4 * time.Second) }, ""},
		{func(*stored.Register) {}, "worker 5: held by pid 7 on host host-a until"},
		{func(x *stored.Register) { released(x); x.Until = tick(8 * time.Second) }, "worker 5: released by pid 7"},
		{func(x *stored.Register) { released(x); x.Until = tick(time.Hour) }, "this machine's clock is 1h0m0s behind the ticks of worker 5, whose last write was by pid 7 on host host-a: wait for so long, or set it right"},
		{quarantined, "worker 5: quarantined"},
	}
	for _, test := range tests {
		w.put(r, 5, w.register(r, test.change))
		err := r.Refusal(w.read(r, 5))
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
}

func TestVerifyFindsWhatIsWrong(t *testing.T) {
	w := newWorld(t)
	r := w.roster(0, 1, 2)
	prefix := stored.RegisterPrefix(r.Name())
	tick := func(d time.Duration) snowfence.Tick { return r.Layout().TickAt(w.now.Add(d)) }
	mark := func(n int) func(*stored.Register) {
		return func(x *stored.Register) {
			x.Holder, x.Write, x.Process.PID = fmt.Sprintf("%032x", n), fmt.Sprintf("%016x", n), n
		}
	}
	put := func(n int64, changes ...func(*stored.Register)) {
		w.put(r, n, w.register(r, append([]func(*stored.Register){mark(int(n) + 100)}, changes...)...))
	}
	put(0)
	put(1, func(x *stored.Register) { x.Incarnation = strings.Repeat("ab", 16) })
	put(2, func(x *stored.Register) { x.Until = tick(time.Hour) })
	put(3, func(x *stored.Register) { x.Clock = w.now.Add(11 * time.Minute) })
	put(4, mark(104))
	put(5, mark(104), func(x *stored.Register) { x.Write = "00000000000000ff" })
	put(6, func(x *stored.Register) { x.Until = r.Layout().HorizonTick() })
	put(7, func(x *stored.Register) { x.Until = r.Layout().HorizonTick() + 1 })
	put(13)
	w.putBytes(prefix+"08", []byte(`{"format":2}`))
	w.putBytes(prefix+"99", []byte(`{}`))
	put(9, released)
	put(10, released, func(x *stored.Register) { x.Write = fmt.Sprintf("%016x", 109) })

	var got []string
	var verdict roster.Verdict
	for f, err := range r.Verify(t.Context(), &verdict) {
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(f.Workers)
		got = append(got, fmt.Sprintf("%s %s %v", f.Severity, f.Check, f.Workers))
	}
	slices.Sort(got)
	want := []string{
		"error datacenter [13]", "error holder [4 5]", "error horizon [7]", "error key [-1]", "error namespace [1]",
		"error readable [-1]", "error readable [8]", "error write [9 10]",
		"warning ahead [2]", "warning clock [3]", "warning horizon [6]",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if verdict != (roster.Verdict{Registers: 13, Faults: 8, Warnings: 3}) {
		t.Errorf("verdict %+v", verdict)
	}
}

func TestVerifyFindsNothingInWhatHoldersLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		for n := range int64(3) {
			h, err := hold(t, memory.Client(), n)
			if err != nil {
				t.Fatal(err)
			}
			if n > 0 {
				if err := h.Close(t.Context()); err != nil {
					t.Error(err)
				}
			} else {
				defer func() { _ = h.Close(context.Background()) }()
			}
		}
		r, err := roster.Open(t.Context(), roster.Config{Store: memory.Client()})
		if err != nil {
			t.Fatal(err)
		}
		for f, err := range r.Verify(t.Context(), nil) {
			t.Errorf("%+v, %v", f, err)
		}
	})
}
