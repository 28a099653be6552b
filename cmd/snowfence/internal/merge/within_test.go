package merge_test

import (
	"slices"
	"strings"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/merge"
	"snowfence.example/snowfence/internal/stored"
)

// TestIssuersOfOneSideAreToldApart: sentences of two issuers of one side can't call
// them by their side.
func TestIssuersOfOneSideAreToldApart(t *testing.T) {
	l := layout(t, "twitter")
	managed, _ := namespace(t, "eu", l, nil, map[int64]stored.Register{0: {Term: 1, Floor: minutes(l, -10), Until: minutes(l, 1), Holder: nonce}})
	for _, x := range []struct {
		name     string
		a, b     *merge.Issuer
		possible bool
		says     string
	}{
		{"worker ids overlap", named(t, "eu", "layout:twitter#0-4"), named(t, "eu", "layout:twitter#4-7"), true, "layout twitter (worker id 0-4) and layout twitter (worker id 4-7) can issue the same id from now on"},
		{"worker ids are disjoint", named(t, "eu", "layout:twitter#0-3"), named(t, "eu", "layout:twitter#4-7"), false, "layout twitter (worker id 0-3) and layout twitter (worker id 4-7) can never issue the same id: they have one layout and epoch, no worker id in common (layout twitter (worker id 0-3): 0-3; layout twitter (worker id 4-7): 4-7)"},
		{"the same twice", named(t, "eu", "layout:twitter#7"), named(t, "eu", "layout:twitter#7"), true, "the first layout twitter (worker id 7) and the second layout twitter (worker id 7) can issue"},
		{"a namespace and another system", managed, named(t, "eu", "layout:twitter#3"), true, "namespace default of mem:// and layout twitter (worker id 3) can issue the same id from now on"},
		{"one that was stopped", named(t, "eu", "layout:twitter#3/until=2026-11-20T00:00:00Z"), managed, false, "layout twitter (worker id 3) and namespace default of mem:// can never issue the same id"},
		{"other layouts", named(t, "eu", "layout:twitter#since=2020-01-01"), named(t, "eu", "layout:default"), true, "every id of layout twitter (worker id 0-1023) from now on is above every id of layout default (worker id 0-1023) until 2035-02-27T22:17:05.343Z"},
	} {
		f := merge.Predict(x.a, x.b)
		said := strings.Join(slices.Concat(f.Sentences, f.Lines), "\n")
		if !f.Within || f.Possible() != x.possible || x.says != "" && !strings.Contains(said, x.says) {
			t.Errorf("%s: possible is %v, want %v; %q is not in\n%s", x.name, f.Possible(), x.possible, x.says, said)
		}
		if strings.Contains(said, "eu") {
			t.Errorf("%s: the side stands for one of its issuers:\n%s", x.name, said)
		}
	}
	across := merge.Predict(named(t, "eu", "layout:twitter#7"), named(t, "us", "layout:twitter#7"))
	if across.Within || !strings.Contains(strings.Join(across.Sentences, "\n"), "eu and us can issue") {
		t.Errorf("%q", across.Sentences)
	}
}

// TestFloorsAreSetAboveClocksThatMayBeAhead: the lease protocol lets a clock be ten
// minutes ahead, so the floors over somebody's ids lie as far above his end.
func TestFloorsAreSetAboveClocksThatMayBeAhead(t *testing.T) {
	l := snowfence.DefaultLayout()
	a, _ := namespace(t, "a", l, nil, nil)
	b, _ := namespace(t, "b", l, nil, nil)
	other := named(t, "b", "layout:default#7")
	for _, f := range []merge.Forecast{merge.Predict(a, b), merge.Predict(a, other), merge.Predict(other, a)} {
		said := strings.Join(f.Lines, "\n")
		for _, want := range []string{"--stopped-at TIME --margin 10m --store", "up to 10m ahead when it was stopped", "give the last ids too"} {
			if !strings.Contains(said, want) {
				t.Errorf("%s and %s: %q is not in\n%s", f.A.Name, f.B.Name, want, said)
			}
		}
	}
	// An end that comes before a time relies on clocks too; one that is due has none.
	for args, want := range map[[2]string]bool{
		{"a=layout:twitter#since=2020-01-01", "b=layout:default"}:     true,
		{"a=layout:twitter", "b=layout:default"}:                      false,
		{"a=layout:twitter#3/since=2030-01-01", "b=layout:twitter#3"}: true,
		{"a=layout:twitter#3", "b=layout:twitter#3"}:                  false,
	} {
		f := merge.Predict(foreign(t, args[0]), foreign(t, args[1]))
		if said := strings.Join(f.Lines, "\n"); strings.Contains(said, "that time is by clocks that are right") != want {
			t.Errorf("%v: %s", args, said)
		}
	}
}
