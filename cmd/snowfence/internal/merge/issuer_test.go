package merge_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/merge"
	"snowfence.example/snowfence/cmd/snowfence/internal/overlap"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store/memstore"
)

func TestRegistersTellWhatWasStampedAndWhatMayBe(t *testing.T) {
	l := snowfence.DefaultLayout()
	at := func(n int) snowfence.Tick { return minutes(l, n) }
	last := l.HorizonTick() - 1
	none := overlap.Ticks{First: 0, Last: -1}
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
	all := overlap.Ticks{First: 0, Last: l.HorizonTick() - 1}
	if len(i.Unreadable) != 1 || i.Unreadable[0] != 2 || i.Strays != 1 || len(i.Stretches) != 3 || i.Stretches[1].Used != all {
		t.Errorf("%+v", i)
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
	held := stored.Register{Term: 1, Floor: minutes(l, -10), Until: minutes(l, 1), Holder: nonce}
	for worker, x := range map[int64]struct{ layout, incarnation string }{
		1: {r.Record().Layout, other}, 2: {"ms41-worker10-seq12@2026-01-01T00:00:00Z", other}, 40: {r.Record().Layout, r.Record().Incarnation},
	} {
		register := held
		register.Layout, register.Incarnation, register.Write, register.Window = x.layout, x.incarnation, fmt.Sprintf("%016x", worker), time.Minute
		value, err := register.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Swap(t.Context(), stored.RegisterKey("default", l, worker), "", value); err != nil {
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
