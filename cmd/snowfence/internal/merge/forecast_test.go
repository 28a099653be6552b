package merge_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/merge"
	"snowfence.example/snowfence/cmd/snowfence/internal/overlap"
	"snowfence.example/snowfence/internal/stored"
)

func (stopped) Wall() time.Time { return now }

func TestDisjointDatacentersNeverClash(t *testing.T) {
	l := layout(t, "twitter")
	a, _ := namespace(t, "eu", l, []int64{0, 1}, map[int64]stored.Register{3: {Term: 2, Floor: minutes(l, -9), Until: minutes(l, 1), Holder: nonce}})
	b, _ := namespace(t, "us", l, []int64{2, 9}, map[int64]stored.Register{64: {Term: 2, Floor: minutes(l, -9), Until: minutes(l, 1), Holder: nonce}})
	f := merge.Predict(a, b)
	if f.Possible() || len(f.Chances) != 0 {
		t.Errorf("%+v", f)
	}
	want := "eu and us can never issue the same id: they have one layout and epoch, their records list disjoint datacenters (eu: 0, 1; us: 2, 9), and every id carries its datacenter"
	if s := f.Sentences; len(s) != 1 || s[0] != want {
		t.Errorf("%q", s)
	}
	if f.Advice != nil {
		t.Errorf("%q", f.Advice)
	}
}

func TestPoolsThatOnlyHappenToBeDisjointMayClash(t *testing.T) {
	l := snowfence.DefaultLayout()
	a, _ := namespace(t, "eu", l, nil, map[int64]stored.Register{0: {Term: 1, Floor: minutes(l, -9), Until: minutes(l, 1), Holder: nonce}})
	b, _ := namespace(t, "us", l, nil, map[int64]stored.Register{5: {Term: 1, Floor: minutes(l, -9), Until: minutes(l, 1), Holder: nonce}})
	f := merge.Predict(a, b)
	if !f.Possible() || !f.FromNow.Equal(now) {
		t.Fatalf("%+v", f)
	}
	// Nothing was stamped twice: their first terms were of different worker ids.
	for _, c := range f.Chances {
		if c.Settled() {
			t.Errorf("%+v", c)
		}
	}
	said := strings.Join(slices.Concat(f.Sentences, f.Lines), "\n")
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
	kept := func(floor, until int, term int64) map[int64]stored.Register {
		return map[int64]stored.Register{5: {Term: term, Floor: minutes(l, floor), Until: minutes(l, until)}}
	}
	for _, x := range []struct {
		name            string
		a, b            map[int64]stored.Register
		chance, present bool
	}{
		{"present terms overlap", kept(-9, -5, 2), kept(-6, -1, 2), true, true},
		{"one may have overlapped an earlier term", kept(-9, -5, 1), kept(-5, -1, 2), true, false},
		{"first terms that are apart", kept(-9, -5, 1), kept(-5, -1, 1), false, false},
		{"another worker id", kept(-9, -5, 2), map[int64]stored.Register{6: {Term: 2, Floor: minutes(l, -9), Until: minutes(l, -5)}}, false, false},
	} {
		a, _ := namespace(t, "a", l, nil, x.a)
		b, _ := namespace(t, "b", l, nil, x.b)
		var past *merge.Chance
		for _, c := range merge.Predict(a, b).Chances {
			if c.Settled() {
				past = &c
			}
		}
		if (past != nil) != x.chance || past != nil && past.Recorded != x.present {
			t.Errorf("%s: %+v", x.name, past)
		}
		// Of what nothing is kept there is no example.
		said := strings.Join(merge.Predict(a, b).Sentences, "\n")
		if past != nil && strings.Contains(said, "already, in their present terms; the first is ") != x.present || past != nil && strings.Contains(said, "so only their ids tell") == x.present {
			t.Errorf("%s: %s", x.name, said)
		}
	}
}

func TestQuarantineKeepsNamespacesApart(t *testing.T) {
	l := layout(t, "ms41-worker1-seq12")
	a, _ := namespace(t, "a", l, nil, map[int64]stored.Register{
		0: {Term: 1, Floor: minutes(l, -9), Until: minutes(l, 1), Holder: nonce},
		1: {Term: 1, Quarantined: true},
	})
	b, _ := namespace(t, "b", l, nil, map[int64]stored.Register{
		0: {Term: 1, Quarantined: true},
		1: {Term: 1, Floor: minutes(l, -9), Until: minutes(l, 1), Holder: nonce},
	})
	f := merge.Predict(a, b)
	if len(f.Chances) != 0 || !strings.Contains(f.Why, "no worker id in common (a: 0; b: 1)") {
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
		f := merge.Predict(foreign(t, x.a), named(t, "B", x.b))
		from := ""
		if f.Possible() {
			from = f.FromNow.UTC().Format(time.RFC3339Nano)
		}
		said := strings.Join(f.Sentences, "\n")
		if from != x.from || !strings.Contains(said, x.says) {
			t.Errorf("%s and %s: from %q, want %q; want %q in\n%s", x.a, x.b, from, x.from, x.says, said)
		}
		if (f.Why != "") != (len(f.Chances) == 0) {
			t.Errorf("%s and %s: a reason and a chance: %+v", x.a, x.b, f)
		}
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
	f := merge.Predict(i, other)
	// The past of the one ends below where the other's future begins.
	if len(f.Chances) != 2 || f.FromNow.Format(time.RFC3339Nano) != "2036-01-18T10:17:06.363Z" {
		t.Errorf("%+v", f.Chances)
	}
	// Whatever is taken together, the fixed bits stay what they are.
	i.Stretches = i.Stretches[:512]
	if f := merge.Predict(i, named(t, "b", "layout:twitter#512-1023")); len(f.Chances) != 0 {
		t.Errorf("%+v", f.Chances)
	}
}
