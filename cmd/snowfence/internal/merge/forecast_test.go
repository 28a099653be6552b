package merge_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/merge"
	"snowfence.example/snowfence/cmd/snowfence/internal/overlap"
	"snowfence.example/snowfence/fence/lease"
	"snowfence.example/snowfence/fence/roster"
	"snowfence.example/snowfence/store/memstore"
)

// now is when the tests take place.
var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// stopped is a clock that stands at now.
type stopped struct{ snowfence.Clock }

func (stopped) Wall() time.Time { return now }

func layout(t *testing.T, text string) snowfence.Layout {
	t.Helper()
	l, err := snowfence.ParseLayout(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// foreign is the issuer of a layout: side.
func foreign(t *testing.T, arg string) *merge.Issuer {
	t.Helper()
	side := parse(t, arg, "zz=other")[0]
	return merge.ForeignIssuer(side.Name, side.Layouts[0], now)
}

// namespace is a namespace in memory whose registers are written as given, with
// the layout's incarnation.
func namespace(t *testing.T, side string, l snowfence.Layout, datacenters []int64, registers map[int64]lease.Register) (*merge.Issuer, *roster.Roster) {
	t.Helper()
	s := memstore.New().Client()
	config := roster.Config{Store: s, Clock: stopped{snowfence.SystemClock()}}
	r, err := roster.Create(context.Background(), config, l, datacenters)
	if err != nil {
		t.Fatal(err)
	}
	for number, register := range registers {
		register.Layout, register.Incarnation = r.Record().Layout, r.Record().Incarnation
		register.Write, register.Window = fmt.Sprintf("%016x", number+1), time.Minute
		value, err := register.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Swap(context.Background(), lease.RegisterKey("default", l, number), "", value); err != nil {
			t.Fatal(err)
		}
	}
	i, err := merge.IssuerOf(context.Background(), side, "mem://", r)
	if err != nil {
		t.Fatal(err)
	}
	return i, r
}

// minutes is a tick of a layout, so many minutes from now.
func minutes(l snowfence.Layout, n int) snowfence.Tick {
	return l.TickAt(now.Add(time.Duration(n) * time.Minute))
}

const nonce = "00112233445566778899aabbccddeeff"

func TestRegistersTellWhatWasStampedAndWhatMayBe(t *testing.T) {
	l := snowfence.DefaultLayout()
	at := func(n int) snowfence.Tick { return minutes(l, n) }
	last := l.HorizonTick() - 1
	none := overlap.Ticks{First: 0, Last: -1}
	i, _ := namespace(t, "a", l, nil, map[int64]lease.Register{
		0: {Term: 1, Floor: at(-10), Until: at(1), Holder: nonce},                    // held, first term
		1: {Term: 3, Floor: at(-10), Until: at(1), Holder: nonce},                    // held, third
		2: {Term: 3, Floor: at(-10), Until: at(-5)},                                  // released
		3: {Term: 2, Floor: at(60), Until: at(60)},                                   // taken over
		4: {Term: 2, Floor: at(-10), Until: at(-5), Quarantined: true},               // kept back
		5: {Term: 2, Floor: at(-10), Until: at(1), Holder: nonce, Quarantined: true}, // kept back, its holder lives
		6: {Term: 2, Floor: last + 1, Until: last + 1},                               // used up
		7: {Term: 1, Floor: at(-10), Until: at(-10)},                                 // written by an operator
		8: {Term: 2, Floor: at(-10), Until: last + 1, Holder: nonce},                 // used up, its holder lives
		9: {Term: 3, Floor: at(-10), Until: at(-5)},                                  // as 2, but apart
	})
	want := []merge.Stretch{
		{overlap.Workers{First: 0, Last: 0}, overlap.Ticks{First: at(-10), Last: at(1) - 1}, overlap.Ticks{First: at(-10), Last: at(1) - 1}, overlap.Ticks{First: at(0), Last: last}},
		{overlap.Workers{First: 1, Last: 1}, overlap.Ticks{First: 0, Last: at(1) - 1}, overlap.Ticks{First: at(-10), Last: at(1) - 1}, overlap.Ticks{First: at(0), Last: last}},
		{overlap.Workers{First: 2, Last: 2}, overlap.Ticks{First: 0, Last: at(-5) - 1}, overlap.Ticks{First: at(-10), Last: at(-5) - 1}, overlap.Ticks{First: at(0), Last: last}},
		{overlap.Workers{First: 3, Last: 3}, overlap.Ticks{First: 0, Last: at(60) - 1}, overlap.Ticks{First: at(60), Last: at(60) - 1}, overlap.Ticks{First: at(60), Last: last}},
		{overlap.Workers{First: 4, Last: 4}, overlap.Ticks{First: 0, Last: at(-5) - 1}, overlap.Ticks{First: at(-10), Last: at(-5) - 1}, none},
		{overlap.Workers{First: 5, Last: 5}, overlap.Ticks{First: 0, Last: at(1) - 1}, overlap.Ticks{First: at(-10), Last: at(1) - 1}, overlap.Ticks{First: at(0), Last: at(1) - 1}},
		{overlap.Workers{First: 6, Last: 6}, overlap.Ticks{First: 0, Last: last}, overlap.Ticks{First: last + 1, Last: last}, none},
		{overlap.Workers{First: 7, Last: 7}, overlap.Ticks{First: 0, Last: at(-10) - 1}, overlap.Ticks{First: at(-10), Last: at(-10) - 1}, overlap.Ticks{First: at(0), Last: last}},
		{overlap.Workers{First: 8, Last: 8}, overlap.Ticks{First: 0, Last: last}, overlap.Ticks{First: at(-10), Last: last}, overlap.Ticks{First: at(0), Last: last}},
		{overlap.Workers{First: 9, Last: 9}, overlap.Ticks{First: 0, Last: at(-5) - 1}, overlap.Ticks{First: at(-10), Last: at(-5) - 1}, overlap.Ticks{First: at(0), Last: last}},
		{overlap.Workers{First: 10, Last: 1023}, none, none, overlap.Ticks{First: at(0), Last: last}},
	}
	if len(i.Stretches) != len(want) {
		t.Fatalf("%d stretches, want %d: %+v", len(i.Stretches), len(want), i.Stretches)
	}
	for n, s := range i.Stretches {
		if s != want[n] {
			t.Errorf("got  %+v\nwant %+v", s, want[n])
		}
	}
	if len(i.Quarantined) != 2 {
		t.Errorf("quarantined: %v", i.Quarantined)
	}
}

func TestDisjointDatacentersNeverClash(t *testing.T) {
	l := layout(t, "twitter")
	a, _ := namespace(t, "eu", l, []int64{0, 1}, map[int64]lease.Register{3: {Term: 2, Floor: minutes(l, -9), Until: minutes(l, 1), Holder: nonce}})
	b, _ := namespace(t, "us", l, []int64{2, 9}, map[int64]lease.Register{64: {Term: 2, Floor: minutes(l, -9), Until: minutes(l, 1), Holder: nonce}})
	f := merge.Forecasts(a, b)
	if f.Possible() || len(f.Chances) != 0 {
		t.Errorf("%+v", f)
	}
	want := "eu and us can never issue the same id: they have one layout and epoch, their records list disjoint datacenters (eu: 0, 1; us: 2, 9), and every id carries its datacenter"
	if s := f.Sentences(); len(s) != 1 || s[0] != want {
		t.Errorf("%q", s)
	}
	if f.Advice() != nil {
		t.Errorf("%q", f.Advice())
	}
}

func TestPoolsThatOnlyHappenToBeDisjointMayClash(t *testing.T) {
	l := snowfence.DefaultLayout()
	a, _ := namespace(t, "eu", l, nil, map[int64]lease.Register{0: {Term: 1, Floor: minutes(l, -9), Until: minutes(l, 1), Holder: nonce}})
	b, _ := namespace(t, "us", l, nil, map[int64]lease.Register{5: {Term: 1, Floor: minutes(l, -9), Until: minutes(l, 1), Holder: nonce}})
	f := merge.Forecasts(a, b)
	if !f.Possible() || !f.FromNow.Equal(now) {
		t.Fatalf("%+v", f)
	}
	// Nothing was stamped twice: their first terms were of different worker ids.
	for _, c := range f.Chances {
		if c.A == merge.Past && c.B == merge.Past {
			t.Errorf("%+v", c)
		}
	}
	said := strings.Join(append(f.Sentences(), f.Advice()...), "\n")
	for _, want := range []string{
		"eu and us can issue the same id from now on: they have one layout and epoch, and both may use worker id 0-1023; whenever both do at the same time, ids can be equal",
		"workers import list --workers all", "whose records list disjoint ones", "quarantine",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in\n%s", want, said)
		}
	}
}

func TestThePastOfPresentTermsIsToldFromThatOfEarlierOnes(t *testing.T) {
	l := snowfence.DefaultLayout()
	kept := func(floor, until int, term int64) map[int64]lease.Register {
		return map[int64]lease.Register{5: {Term: term, Floor: minutes(l, floor), Until: minutes(l, until)}}
	}
	for _, x := range []struct {
		name            string
		a, b            map[int64]lease.Register
		chance, present bool
	}{
		{"present terms overlap", kept(-9, -5, 2), kept(-6, -1, 2), true, true},
		{"one may have overlapped an earlier term", kept(-9, -5, 1), kept(-5, -1, 2), true, false},
		{"first terms that are apart", kept(-9, -5, 1), kept(-5, -1, 1), false, false},
		{"another worker id", kept(-9, -5, 2), map[int64]lease.Register{6: {Term: 2, Floor: minutes(l, -9), Until: minutes(l, -5)}}, false, false},
	} {
		a, _ := namespace(t, "a", l, nil, x.a)
		b, _ := namespace(t, "b", l, nil, x.b)
		var past *merge.Chance
		for _, c := range merge.Forecasts(a, b).Chances {
			if c.A == merge.Past && c.B == merge.Past {
				past = &c
			}
		}
		if (past != nil) != x.chance || past != nil && past.Recorded != x.present {
			t.Errorf("%s: %+v", x.name, past)
		}
		// Of what nothing is kept there is no example.
		said := strings.Join(merge.Forecasts(a, b).Sentences(), "\n")
		if past != nil && strings.Contains(said, "already, in their present terms; the first is ") != x.present || past != nil && strings.Contains(said, "so only their ids tell") == x.present {
			t.Errorf("%s: %s", x.name, said)
		}
	}
}

func TestQuarantineKeepsNamespacesApart(t *testing.T) {
	l := layout(t, "ms41-worker1-seq12")
	a, _ := namespace(t, "a", l, nil, map[int64]lease.Register{
		0: {Term: 1, Floor: minutes(l, -9), Until: minutes(l, 1), Holder: nonce},
		1: {Term: 1, Quarantined: true},
	})
	b, _ := namespace(t, "b", l, nil, map[int64]lease.Register{
		0: {Term: 1, Quarantined: true},
		1: {Term: 1, Floor: minutes(l, -9), Until: minutes(l, 1), Holder: nonce},
	})
	f := merge.Forecasts(a, b)
	if len(f.Chances) != 0 || len(f.Why) != 1 || !strings.Contains(string(f.Why[0]), "no worker id in common (a: 0; b: 1)") {
		t.Errorf("%+v", f)
	}
}

func TestLayoutsThatDiffer(t *testing.T) {
	for _, x := range []struct {
		a, b string
		from string // of FromNow; empty: never
		says string
	}{
		{"layout:twitter#0-3", "layout:twitter#4-7", "", "no worker id in common (A: 0-3; B: 4-7), and every id carries its worker id"},
		{"layout:twitter#0-3", "layout:leaf#4-7", "", "the fixed bits differ"},
		{"layout:leaf#0-3", "layout:default#4-7", "", "whatever the time, no integer has a worker id of A (0-3)"},
		// Sixteen years lie between the epochs: what twitter issues now, default will
		// issue then, but what default issues now, twitter issued in its first year.
		{"layout:twitter", "layout:default", "2026-11-21T12:00:00Z", "B can issue what A may have issued before"},
		// If twitter began in 2020 only, that is not so until default has come as far
		// from its epoch.
		{"layout:twitter#since=2020-01-01", "layout:default", "2035-02-27T22:17:05.343Z", "every id of A from now on is above every id of B until 2035-02-27T22:17:05.343Z"},
		// One that was stopped before the other's range of integers.
		{"layout:twitter#until=2015-01-01", "layout:default#since=2032-01-01", "", "every id of B, past and future, is above every id of A"},
		{"layout:seata#1", "layout:javascript-safe-ms", "", "is above every id of B"},
		{"layout:seata#0-1", "layout:javascript-safe-ms", "2026-11-21T12:00:00Z", "A and B can issue the same id from now on"},
		{"layout:baidu", "layout:sonyflake-v2", "2026-11-21T12:00:00Z", ""},
	} {
		f := merge.Forecasts(foreign(t, x.a), named(t, "B", x.b))
		from := ""
		if f.Possible() {
			from = f.FromNow.UTC().Format(time.RFC3339Nano)
		}
		said := strings.Join(f.Sentences(), "\n")
		if from != x.from || !strings.Contains(said, x.says) {
			t.Errorf("%s and %s: from %q, want %q; want %q in\n%s", x.a, x.b, from, x.from, x.says, said)
		}
		if (f.Why != nil) != (len(f.Chances) == 0) {
			t.Errorf("%s and %s: a reason and a chance: %+v", x.a, x.b, f)
		}
	}
}

func named(t *testing.T, name, arg string) *merge.Issuer {
	t.Helper()
	return foreign(t, name+"="+arg)
}

// TestForecastsAreThoseOfListingEveryID holds forecasts of tiny systems against
// all ids that they issue, tick by tick.
func TestForecastsAreThoseOfListingEveryID(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 0))
	never, may := 0, 0
	for round := range 1500 {
		a, b := tiny(t, random, "a"), tiny(t, random, "b")
		if random.IntN(3) == 0 {
			b.Layout = a.Layout
			b.Stretches = tinyStretches(random, b.Layout)
		}
		f := merge.Forecasts(a, b)
		var past bool
		var first time.Time
		theirs := issued(b)
		for id, ours := range issued(a) {
			for _, x := range ours {
				for _, y := range theirs[id] {
					if !x.open && !y.open {
						past = true
						continue
					}
					at := now
					// What may have been stamped is there, also if its tick is still to come.
					for _, z := range []stamped{x, y} {
						if z.open && z.at.After(at) {
							at = z.at
						}
					}
					if first.IsZero() || at.Before(first) {
						first = at
					}
				}
			}
		}
		if first.IsZero() {
			never++
		} else {
			may++
		}
		gotPast := false
		for _, c := range f.Chances {
			gotPast = gotPast || c.A == merge.Past && c.B == merge.Past
		}
		if !f.FromNow.Equal(first) || gotPast != past {
			t.Fatalf("round %d: from %s, want %s; past %v, want %v\n%+v\n%+v", round, f.FromNow, first, gotPast, past, a, b)
		}
		if (f.Why == nil) != (past || !first.IsZero()) {
			t.Fatalf("round %d: why %q", round, f.Why)
		}
		if f.Above != 0 {
			checkAbove(t, f)
		}
	}
	if never < 100 || may < 100 {
		t.Errorf("%d never and %d may: not both were tried", never, may)
	}
}

// checkAbove holds that the ids of one from now on lie above the other's.
func checkAbove(t *testing.T, f merge.Forecast) {
	t.Helper()
	one, other := f.A, f.B
	if f.Above < 0 {
		one, other = other, one
	}
	highest := uint64(0)
	for id, stamps := range issued(other) {
		for _, s := range stamps {
			if f.FromNow.IsZero() || s.at.Before(f.FromNow) {
				highest = max(highest, uint64(id))
			}
		}
	}
	for id, stamps := range issued(one) {
		for _, s := range stamps {
			if s.open && uint64(id) <= highest {
				t.Fatalf("%s of %s is not above %d", id, one.Side, highest)
			}
		}
	}
}

// stamped is one way in which an id may be issued.
type stamped struct {
	at   time.Time
	open bool
}

func issued(i *merge.Issuer) map[snowfence.ID][]stamped {
	all := map[snowfence.ID][]stamped{}
	for _, s := range i.Stretches {
		for worker := s.Workers.First; worker <= s.Workers.Last; worker++ {
			datacenter, within, _ := i.Layout.SplitWorker(worker)
			for open, ticks := range map[bool]overlap.Ticks{false: s.Used, true: s.Open} {
				for tick := ticks.First; tick <= ticks.Last; tick++ {
					for sequence := range i.Layout.Sequences() {
						id, err := i.Layout.Compose(snowfence.Parts{Tick: tick, Datacenter: datacenter, Worker: within, Sequence: sequence})
						if err == nil {
							all[id] = append(all[id], stamped{i.Layout.TimeOf(tick), open})
						}
					}
				}
			}
		}
	}
	return all
}

func tiny(t *testing.T, random *rand.Rand, side string) *merge.Issuer {
	t.Helper()
	texts := []string{"ms3-worker2-seq1", "ms3-seq1-worker2", "worker2-ms3-seq1", "2ms3-datacenter1-worker1-seq1", "worker1-ms3-datacenter1-seq1", "ms4-worker1-seq1", "3ms2-worker3-seq1"}
	l := layout(t, texts[random.IntN(len(texts))]+"@2026-01-01")
	l.Epoch = now.Add(-time.Duration(random.IntN(12)) * time.Millisecond)
	return &merge.Issuer{Side: side, Name: "tiny", Layout: l, Now: now, Stretches: tinyStretches(random, l)}
}

func tinyStretches(random *rand.Rand, l snowfence.Layout) []merge.Stretch {
	var all []merge.Stretch
	ticks := func() overlap.Ticks {
		first := snowfence.Tick(random.Int64N(int64(l.HorizonTick())))
		return overlap.Ticks{First: first, Last: min(first+snowfence.Tick(random.IntN(4))-1, l.HorizonTick()-1)}
	}
	for worker := int64(0); worker < l.Workers(); worker++ {
		if random.IntN(2) == 0 {
			continue
		}
		s := merge.Stretch{Workers: overlap.Workers{First: worker, Last: worker}, Used: ticks(), Open: ticks()}
		s.Term = s.Used
		all = append(all, s)
	}
	return all
}

func TestUnreadableRegistersAreTakenToHaveStampedAnything(t *testing.T) {
	l := layout(t, "ms41-worker2-seq12")
	s := memstore.New().Client()
	r, err := roster.Create(t.Context(), roster.Config{Store: s, Clock: stopped{snowfence.SystemClock()}}, l, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{lease.RegisterKey("default", l, 2), lease.RegisterPrefix("default") + "77"} {
		if _, err := s.Swap(t.Context(), key, "", []byte("damaged")); err != nil {
			t.Fatal(err)
		}
	}
	i, err := merge.IssuerOf(t.Context(), "eu", "mem://", r)
	if err != nil {
		t.Fatal(err)
	}
	all := overlap.Ticks{First: 0, Last: l.HorizonTick() - 1}
	if len(i.Unreadable) != 1 || i.Unreadable[0] != 2 || i.Strays != 1 || len(i.Stretches) != 3 || i.Stretches[1].Used != all {
		t.Errorf("%+v", i)
	}
}

func TestManyRegistersAreStillDecided(t *testing.T) {
	// A thousand registers, each with an until of its own, against another layout.
	// Taking neighbours together must not make a never of a may.
	i := &merge.Issuer{Side: "a", Name: "many", Layout: layout(t, "leaf"), Now: now}
	for n := range int64(1024) {
		until := snowfence.Tick(1 << 20 * (n + 1))
		i.Stretches = append(i.Stretches, merge.Stretch{
			Workers: overlap.Workers{First: n, Last: n}, Used: overlap.Ticks{First: 0, Last: until}, Term: overlap.Ticks{First: 0, Last: until},
			Open: overlap.Ticks{First: minutes(i.Layout, 0) + snowfence.Tick(n), Last: i.Layout.HorizonTick() - 1},
		})
	}
	other := named(t, "b", "layout:tsid#1023")
	f := merge.Forecasts(i, other)
	// The past of the one ends below where the other's future begins.
	if len(f.Chances) != 2 || f.FromNow.Format(time.RFC3339Nano) != "2036-01-18T10:17:06.363Z" {
		t.Errorf("%+v", f.Chances)
	}
	// Whatever is taken together, the fixed bits stay what they are.
	i.Stretches = i.Stretches[:512]
	if f := merge.Forecasts(i, named(t, "b", "layout:twitter#512-1023")); len(f.Chances) != 0 {
		t.Errorf("%+v", f.Chances)
	}
}

func TestRegistersThatAreNotOfThisNamespaceBoundTheirTicksOnly(t *testing.T) {
	l := layout(t, "twitter")
	s := memstore.New().Client()
	r, err := roster.Create(t.Context(), roster.Config{Store: s, Clock: stopped{snowfence.SystemClock()}}, l, []int64{0})
	if err != nil {
		t.Fatal(err)
	}
	last := l.HorizonTick() - 1
	other := strings.Repeat("ab", 16)
	held := lease.Register{Term: 1, Floor: minutes(l, -10), Until: minutes(l, 1), Holder: nonce}
	for worker, x := range map[int64]struct{ layout, incarnation string }{
		1: {r.Record().Layout, other}, 2: {"ms41-worker10-seq12@2026-01-01T00:00:00Z", other}, 40: {r.Record().Layout, r.Record().Incarnation},
	} {
		register := held
		register.Layout, register.Incarnation, register.Write, register.Window = x.layout, x.incarnation, fmt.Sprintf("%016x", worker), time.Minute
		value, err := register.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Swap(t.Context(), lease.RegisterKey("default", l, worker), "", value); err != nil {
			t.Fatal(err)
		}
	}
	i, err := merge.IssuerOf(t.Context(), "eu", "mem://", r)
	if err != nil {
		t.Fatal(err)
	}
	term, none := overlap.Ticks{First: minutes(l, -10), Last: minutes(l, 1) - 1}, overlap.Ticks{First: 0, Last: -1}
	rest := overlap.Ticks{First: minutes(l, 0), Last: minutes(l, 1) - 1} // until its holder finds out
	for _, want := range []merge.Stretch{
		{overlap.Workers{First: 1, Last: 1}, term, term, rest},                                                           // of an earlier incarnation
		{overlap.Workers{First: 2, Last: 2}, overlap.Ticks{First: 0, Last: last}, none, none},                            // of another layout
		{overlap.Workers{First: 3, Last: 31}, none, none, overlap.Ticks{First: minutes(l, 0), Last: last}},               // never claimed
		{overlap.Workers{First: 40, Last: 40}, term, term, overlap.Ticks{First: minutes(l, 0), Last: minutes(l, 1) - 1}}, // of a datacenter that is not this store's
	} {
		found := false
		for _, s := range i.Stretches {
			found = found || s == want
		}
		if !found {
			t.Errorf("%+v is not among %+v", want, i.Stretches)
		}
	}
}
