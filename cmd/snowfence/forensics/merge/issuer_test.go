package merge_test

import (
	"slices"
	"strings"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/merge"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store/memstore"
)

func TestRegistersTellWhatWasStampedAndWhatMayBe(t *testing.T) {
	l := snowfence.DefaultLayout()
	at := func(n int) snowfence.Tick { return minutes(l, n) }
	last := l.HorizonTick() - 1
	i, _ := namespace(t, "a", l, nil, map[int64]stored.Register{
		0: {Term: 1, Floor: at(-10), Until: at(1), Holder: nonce},                    // held, first term
		1: {Term: 3, Floor: at(-10), Until: at(1), Holder: nonce},                    // held, third
		2: {Term: 3, Floor: at(-10), Until: at(-5)},                                  // released
		3: {Term: 2, Floor: at(60), Until: at(60)},                                   // taken over
		4: {Term: 2, Floor: at(-10), Until: at(-5), Quarantined: true},               // kept back
		5: {Term: 2, Floor: at(-10), Until: at(1), Holder: nonce, Quarantined: true}, // kept back, its holder lives
		6: {Term: 2, Floor: last + 1, Until: last + 1},                               // used up
		7: {Term: 1, Floor: at(-10), Until: at(-10)},                                 // written by an operator
		8: {Term: 2, Floor: at(-10), Until: last + 1, Holder: nonce},                 // used up, its holder lives
	})
	one := func(n int64) merge.Workers { return workers(n, n) }
	none := ticks(0, -1)
	want := []merge.Stretch{
		{one(0), ticks(at(-10), at(1)-1), ticks(at(0), last)},
		{one(1), ticks(0, at(1)-1), ticks(at(0), last)},
		{one(2), ticks(0, at(-5)-1), ticks(at(0), last)},
		{one(3), ticks(0, at(60)-1), ticks(at(60), last)},
		{one(4), ticks(0, at(-5)-1), none},
		{one(5), ticks(0, at(1)-1), ticks(at(0), at(1)-1)},
		{one(6), ticks(0, last), none},
		{one(7), ticks(0, at(-10)-1), ticks(at(0), last)},
		{one(8), ticks(0, last), ticks(at(0), last)},
		{workers(9, 1023), none, ticks(at(0), last)},
	}
	if !slices.Equal(i.Stretches, want) {
		t.Errorf("got  %+v\nwant %+v", i.Stretches, want)
	}
}

func TestUnreadableRegistersAreTakenToHaveStampedAnything(t *testing.T) {
	l := layout(t, "ms41-worker2-seq12")
	s := memstore.New().Client()
	r, err := roster.Create(t.Context(), roster.Config{Store: s, Clock: stopped{snowfence.SystemClock()}}, l, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{stored.RegisterKey("default", l, 2), stored.RegisterPrefix("default") + "77"} {
		if _, err := s.Swap(t.Context(), key, "", []byte("damaged")); err != nil {
			t.Fatal(err)
		}
	}
	i, err := merge.IssuerOf(t.Context(), "eu", "mem://", r)
	if err != nil {
		t.Fatal(err)
	}
	all := ticks(0, l.HorizonTick()-1)
	if len(i.Unreadable) != 1 || i.Unreadable[0] != 2 || i.Strays != 1 || len(i.Stretches) != 3 || i.Stretches[1].Used != all {
		t.Errorf("%+v", i)
	}
}

func TestRegistersThatAreNotOfThisNamespaceBoundTheirTicksOnly(t *testing.T) {
	l, other := layout(t, "twitter"), strings.Repeat("ab", 16)
	held := func(layout, incarnation string) stored.Register {
		return stored.Register{Term: 1, Floor: minutes(l, -10), Until: minutes(l, 1), Holder: nonce, Layout: layout, Incarnation: incarnation}
	}
	i, _ := namespace(t, "eu", l, []int64{0}, map[int64]stored.Register{
		1: held("", other), 2: held("ms41-worker10-seq12@2026-01-01T00:00:00Z", other), 40: held("", ""),
	})
	none := ticks(0, -1)
	term, rest := ticks(minutes(l, -10), minutes(l, 1)-1), ticks(minutes(l, 0), minutes(l, 1)-1) // until its holder finds out
	for _, want := range []merge.Stretch{
		{workers(1, 1), term, rest},                                     // of an earlier incarnation
		{workers(2, 2), ticks(0, l.HorizonTick()-1), none},              // of another layout
		{workers(3, 31), none, ticks(minutes(l, 0), l.HorizonTick()-1)}, // never claimed
		{workers(40, 40), term, rest},                                   // of a datacenter that is not this store's
	} {
		if !slices.Contains(i.Stretches, want) {
			t.Errorf("%+v is not among %+v", want, i.Stretches)
		}
	}
}
