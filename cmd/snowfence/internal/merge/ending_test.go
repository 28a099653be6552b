package merge_test

import (
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/merge"
	"snowfence.example/snowfence/internal/stored"
)

// TestHoldersUpToTheHorizonMayClash: nobody claims their worker ids any more, but
// they issue ids until then.
func TestHoldersUpToTheHorizonMayClash(t *testing.T) {
	l := layout(t, "s30-worker1-seq12")
	l.Epoch = now.Add(-(1<<30 - 20) * time.Second) // 20 s are left
	held := map[int64]stored.Register{0: {Term: 1, Floor: l.HorizonTick() - 40, Until: l.HorizonTick(), Holder: nonce}, 1: {Term: 1, Quarantined: true}}
	a, _ := namespace(t, "a", l, nil, held)
	b, _ := namespace(t, "b", l, nil, held)
	if f := merge.Predict(a, b); !f.FromNow.Equal(now) {
		t.Errorf("from %s, want now: %+v", f.FromNow, f.Chances)
	}
}

// TestWhatLiesFarAheadMayBeStampedAlready: a register far ahead of the clock tells
// that somebody was there, so that the other alone says when ids are equal.
func TestWhatLiesFarAheadMayBeStampedAlready(t *testing.T) {
	l := layout(t, "ms41-worker10-seq12@2026-01-01")
	const year = 365 * 24 * 60
	a, _ := namespace(t, "a", l, nil, map[int64]stored.Register{5: {Term: 1, Floor: minutes(l, year), Until: minutes(l, year+60)}})
	b := named(t, "b", "layout:ms41-worker10-seq12@2025-01-01#5")
	for _, f := range []merge.Forecast{merge.Predict(a, b), merge.Predict(b, a)} {
		if !f.FromNow.Equal(now) || f.Above != 0 {
			t.Errorf("from %s, want now; above %d: %+v", f.FromNow, f.Above, f.Chances)
		}
		for _, c := range f.Chances {
			if f.B == b && c.Moments == [2]merge.Moment{merge.Past, merge.Future} && !c.Stamps[1].At.Time.Equal(now) {
				t.Errorf("%+v", c)
			}
		}
	}
}

func TestNamespaceThatIsNamedTwiceIsOne(t *testing.T) {
	l := snowfence.DefaultLayout()
	a, r := namespace(t, "a", l, nil, map[int64]stored.Register{5: {Term: 2, Floor: minutes(l, -9), Until: minutes(l, 1), Holder: nonce}})
	again, err := merge.IssuerOf(t.Context(), "b", "mem://", r)
	if err != nil {
		t.Fatal(err)
	}
	if f := merge.Predict(a, again); len(f.Chances) != 0 || !strings.Contains(strings.Join(f.Sentences, ""), "they are one namespace") {
		t.Errorf("%+v", f)
	}
	// A copy of the store has the incarnation too, and issues by itself.
	elsewhere, err := merge.IssuerOf(t.Context(), "b", "redis://copy", r)
	if err != nil {
		t.Fatal(err)
	}
	if f := merge.Predict(a, elsewhere); !f.Possible() {
		t.Errorf("%+v", f)
	}
}

func TestAdviceNamesWhoHasToEnd(t *testing.T) {
	l := snowfence.DefaultLayout()
	managed, _ := namespace(t, "B", l, nil, nil)
	for _, x := range []struct {
		a, b *merge.Issuer
		says string
	}{
		// A is at 2025's integers of B.
		{foreign(t, "layout:ms41-worker10-seq12@2026-01-01"), named(t, "B", "layout:ms41-worker10-seq12@2025-01-01"), "let A end now; that B ends is not enough, since A can come to ids that B has issued"},
		{foreign(t, "layout:ms41-worker10-seq12@2025-01-01"), named(t, "B", "layout:ms41-worker10-seq12@2026-01-01"), "let B end now; that A ends is not enough"},
		// Not now, but in 2027.
		{foreign(t, "layout:ms41-worker10-seq12@2026-01-01"), named(t, "B", "layout:ms41-worker10-seq12@2025-01-01#since=2026-11-22"), "let A end before 2027-11-22T00:00:00Z; that B ends is not enough"},
		// The one is stopped already: its ids are what the other comes to.
		{foreign(t, "layout:twitter#until=2015-01-01"), managed, "let B end now; that A ends is not enough"},
		{foreign(t, "layout:default#7"), managed, "stop A, and set floors above its ids in B: snowfence workers import list --workers all --stopped-at TIME --margin 10m --store mem:// --namespace default; the margin"},
		{managed, foreign(t, "layout:default#7"), "stop A, and set floors above its ids in B: snowfence"},
		{foreign(t, "layout:default#7"), named(t, "B", "layout:default#7-8"), "let one of them end now, or give them worker ids that are disjoint"},
		{foreign(t, "layout:baidu"), named(t, "B", "layout:sonyflake-v2"), ""},
	} {
		if said := strings.Join(merge.Predict(x.a, x.b).Lines, "; "); !strings.Contains(said, x.says) {
			t.Errorf("%s and %s: %q is not in %q", x.a.Name, x.b.Name, x.says, said)
		} else if x.says == "" {
			t.Log(said)
		}
	}
}
