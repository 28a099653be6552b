package merge_test

import (
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/merge"
	"snowfence.example/snowfence/internal/stored"
)

func (stopped) Wall() time.Time { return now }

// outcome writes a forecast: never, past, or its first time.
func outcome(f merge.Forecast) string {
	switch {
	case f.Outcome == merge.Never:
		return "never"
	case f.FromNow.IsZero():
		return "past"
	case f.FromNow.Equal(now):
		return "now"
	}
	return f.FromNow.UTC().Format(time.RFC3339Nano)
}

func TestForecastsOfNamespaces(t *testing.T) {
	twitter, ours, two := layout(t, "twitter"), snowfence.DefaultLayout(), layout(t, "ms41-worker1-seq12")
	term := func(l snowfence.Layout, floor, until int, term int64) stored.Register {
		return stored.Register{Term: term, Floor: minutes(l, floor), Until: minutes(l, until)}
	}
	held := func(l snowfence.Layout) stored.Register {
		r := term(l, -9, 1, 1)
		r.Holder = nonce
		return r
	}
	kept := stored.Register{Term: 1, Quarantined: true}
	last := layout(t, "s30-worker1-seq12")
	last.Epoch = now.Add(-(1<<30 - 20) * time.Second) // 20 s are left
	ends := map[int64]stored.Register{0: {Term: 1, Floor: last.HorizonTick() - 40, Until: last.HorizonTick(), Holder: nonce}, 1: kept}
	type registers = map[int64]stored.Register
	for _, x := range []struct {
		name   string
		layout snowfence.Layout
		dcA    []int64
		a      registers
		dcB    []int64
		b      registers
		want   string
	}{
		{"disjoint datacenters", twitter, []int64{0, 1}, registers{3: held(twitter)}, []int64{2, 9}, registers{64: held(twitter)}, "never"},
		{"pools that only happen to be disjoint", ours, nil, registers{0: held(ours)}, nil, registers{5: held(ours)}, "now"},
		{"quarantine keeps them apart", two, nil, registers{0: held(two), 1: kept}, nil, registers{0: kept, 1: held(two)}, "never"},
		{"terms of quarantined ones that overlap", two, nil, registers{0: quarantined(term(two, -9, -5, 1)), 1: kept}, nil, registers{0: quarantined(term(two, -6, -1, 1)), 1: kept}, "past"},
		{"terms that may have overlapped an earlier one", two, nil, registers{0: quarantined(term(two, -9, -5, 1)), 1: kept}, nil, registers{0: quarantined(term(two, -5, -1, 2)), 1: kept}, "past"},
		{"first terms that are apart", two, nil, registers{0: quarantined(term(two, -9, -5, 1)), 1: kept}, nil, registers{0: quarantined(term(two, -5, -1, 1)), 1: kept}, "never"},
		{"holders up to the horizon", last, nil, ends, nil, ends, "now"},
	} {
		a, _ := namespace(t, "a", x.layout, x.dcA, x.a)
		b, _ := namespace(t, "b", x.layout, x.dcB, x.b)
		f := merge.Predict(a, b)
		if got := outcome(f); got != x.want || (f.Advice == "") != (f.Outcome == merge.Never) || (got == "past") != strings.Contains(f.Advice, "only ids show") {
			t.Errorf("%s: %s, want %s: %+v", x.name, got, x.want, f)
		}
	}
}

func quarantined(r stored.Register) stored.Register {
	r.Quarantined = true
	return r
}

func TestForecastsOfLayouts(t *testing.T) {
	for _, x := range []struct{ a, b, want, advice string }{
		{"layout:twitter#0-3", "layout:twitter#4-7", "never", ""},
		{"layout:twitter#0-4", "layout:twitter#4-7", "now", "stop one issuer before that time"},
		{"layout:twitter#0-3", "layout:leaf#4-7", "never", ""},
		{"layout:leaf#0-3", "layout:default#4-7", "never", ""},
		// Sixteen years lie between the epochs: default will come to the integers of twitter.
		{"layout:twitter", "layout:default", "now", "stop one issuer before that time"},
		{"layout:twitter", "layout:ms41-worker10-seq12@2030-01-01", "2030-01-01T00:00:00Z", "stop one issuer before that time"},
		{"layout:seata#1", "layout:javascript-safe-ms", "never", ""},
		{"layout:seata#0-1", "layout:javascript-safe-ms", "now", ""},
		{"layout:baidu", "layout:sonyflake-v2", "now", ""},
	} {
		for _, side := range []string{"A", "B"} { // of one side too
			f := merge.Predict(named(t, "A", x.a), named(t, side, x.b))
			if got := outcome(f); got != x.want || !strings.Contains(f.Advice, x.advice) {
				t.Errorf("%s and %s: %s, want %s, %q in %q", x.a, x.b, got, x.want, x.advice, f.Advice)
			}
		}
	}
}

// TestTicksFarAheadMayBeStampedAlready: a register far ahead of the clock shows that
// somebody was there, so the other issuer alone decides when ids are equal.
func TestTicksFarAheadMayBeStampedAlready(t *testing.T) {
	l := layout(t, "ms41-worker10-seq12@2026-01-01")
	const year = 365 * 24 * 60
	a, _ := namespace(t, "a", l, nil, map[int64]stored.Register{5: {Term: 1, Floor: minutes(l, year), Until: minutes(l, year+60)}})
	b := named(t, "b", "layout:ms41-worker10-seq12@2025-01-01#5")
	for _, f := range []merge.Forecast{merge.Predict(a, b), merge.Predict(b, a)} {
		if !f.FromNow.Equal(now) {
			t.Errorf("from %s, want now", f.FromNow)
		}
	}
}

func TestNamespaceThatIsNamedTwiceIsOne(t *testing.T) {
	l := snowfence.DefaultLayout()
	a, r := namespace(t, "a", l, nil, map[int64]stored.Register{5: {Term: 2, Floor: minutes(l, -9), Until: minutes(l, 1), Holder: nonce}})
	// A copy of the store has the incarnation too, and issues by itself.
	for at, never := range map[string]bool{"mem://": true, "redis://copy": false} {
		again, err := merge.IssuerOf(t.Context(), "b", at, r)
		if err != nil {
			t.Fatal(err)
		}
		if f := merge.Predict(a, again); (f.Outcome == merge.Never) != never {
			t.Errorf("%s: %+v", at, f)
		}
	}
}

func TestManyRegistersAreStillDecided(t *testing.T) {
	// A thousand registers, each with an until of its own, against another layout.
	// Taking neighbours together keeps a never and a may apart.
	i := &merge.Issuer{Side: "a", Name: "many", Layout: layout(t, "leaf"), Now: now}
	for n := range int64(1024) {
		until := snowfence.Tick(1 << 20 * (n + 1))
		i.Stretches = append(i.Stretches, merge.Stretch{
			Workers: merge.Workers{First: n, Last: n}, Used: merge.Ticks{First: 0, Last: until},
			Open: merge.Ticks{First: minutes(i.Layout, 0) + snowfence.Tick(n), Last: i.Layout.HorizonTick() - 1},
		})
	}
	other := named(t, "b", "layout:tsid#1023")
	f := merge.Predict(i, other)
	// The past of the one ends below the beginning of the other's future.
	if f.Outcome == merge.Never || f.FromNow.Format(time.RFC3339Nano) != "2036-01-18T10:17:06.363Z" {
		t.Errorf("%+v", f)
	}
	// Whatever is taken together, the fixed bits stay what they are.
	i.Stretches = i.Stretches[:512]
	if f := merge.Predict(i, named(t, "b", "layout:twitter#512-1023")); f.Outcome != merge.Never {
		t.Errorf("%+v", f)
	}
}
