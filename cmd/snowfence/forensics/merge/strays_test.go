package merge_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/imports"
	"snowfence.example/snowfence/cmd/snowfence/forensics/merge"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/stored"
)

func counted(side string, i *merge.Issuer, ids ...snowfence.ID) *merge.Strays {
	s := merge.NewStrays(side, i)
	for _, id := range ids {
		s.Add(id)
	}
	s.End()
	return s
}

func TestIDsThatMayStillBeIssuedAreFound(t *testing.T) {
	l := snowfence.DefaultLayout()
	i, _ := namespace(t, "eu", l, nil, map[int64]stored.Register{
		0: {Term: 1, Floor: minutes(l, -10), Until: minutes(l, 1), Holder: nonce},
		2: {Term: 3, Floor: minutes(l, -10), Until: minutes(l, -5)},
		3: {Term: 2, Floor: minutes(l, 60), Until: minutes(l, 60)},
		4: {Term: 2, Floor: minutes(l, -10), Until: minutes(l, -5), Quarantined: true},
	})
	for _, x := range []struct {
		name       string
		worker     int64
		minute     int
		used, open uint64 // of another side's id
		own        uint64 // open, of one of its own side
	}{
		{"before the first term", 0, -11, 0, 0, 0},
		{"in the term", 0, -9, 1, 0, 0},
		{"in the window that is held", 0, 0, 1, 1, 0},
		{"above the window that is held", 0, 2, 0, 1, 1},
		{"in a term of which nothing is kept", 2, -20, 1, 0, 0},
		{"after the last term, but past", 2, -1, 0, 0, 0},
		{"in the future", 2, 1, 0, 1, 1},
		{"below a floor", 3, 59, 1, 0, 0},
		{"above a floor", 3, 61, 0, 1, 1},
		{"of one that is quarantined", 4, 1, 0, 0, 0},
		{"past, of one that was never claimed", 9, -1, 0, 0, 0},
		{"future, of one that was never claimed", 9, 1, 0, 1, 1},
	} {
		id := compose(t, l, now.Add(time.Duration(x.minute)*time.Minute), x.worker, 5)
		if s := counted("us", i, id); s.Used != x.used || s.Open != x.open || s.Own {
			t.Errorf("%s: %d used, %d open; want %d, %d", x.name, s.Used, s.Open, x.used, x.open)
		}
		if s := counted("eu", i, id); s.Used != 0 || s.Open != x.own || !s.Own {
			t.Errorf("%s: %d used and %d open of its own; want 0, %d", x.name, s.Used, s.Open, x.own)
		}
	}
	if s := counted("us", i, -1); s.Used != 0 || s.Open != 0 {
		t.Errorf("an id that is none of the layout counts: %+v", s)
	}
}

// TestRowsThatAHolderComesToAreStrays: a side's own rows ahead of the clock on a
// worker id that is held. Those below its until may be the holder's, if its clock
// is ahead; but if they are not, it issues them again.
func TestRowsThatAHolderComesToAreStrays(t *testing.T) {
	l := snowfence.DefaultLayout()
	i, r := namespace(t, "eu", l, nil, map[int64]stored.Register{
		0: {Term: 3, Floor: minutes(l, -10), Until: minutes(l, 24*60), Holder: nonce},                    // of a long window
		1: {Term: 3, Floor: minutes(l, 500), Until: minutes(l, 501), Holder: nonce},                      // of a clock that is ahead
		2: {Term: 3, Floor: minutes(l, -10), Until: minutes(l, 24*60)},                                   // released, far ahead
		3: {Term: 3, Floor: minutes(l, -10), Until: minutes(l, 24*60), Holder: nonce, Quarantined: true}, // its holder lives
		4: {Term: 3, Floor: minutes(l, -10), Until: minutes(l, 24*60), Quarantined: true},
	})
	for _, x := range []struct {
		name   string
		worker int64
		ahead  time.Duration
		open   uint64
	}{
		{"passed by the clock", 0, 0, 0},
		{"as far ahead as a clock may be", 0, merge.Skew, 0},
		{"further ahead, within the window", 0, merge.Skew + time.Millisecond, 1},
		{"hours ahead, within the window", 0, 10 * time.Hour, 1},
		{"the last below the bound", 0, 24*time.Hour - time.Millisecond, 1},
		{"at the bound", 0, 24 * time.Hour, 1},
		{"in the term of a clock that is ahead", 1, 500*time.Minute + time.Second, 0},
		{"below its floor", 1, 499 * time.Minute, 0},
		{"above its bound", 1, 501 * time.Minute, 1},
		{"below the bound of a free worker id", 2, 10 * time.Hour, 0},
		{"above it", 2, 24 * time.Hour, 1},
		{"below the bound of a holder that ends", 3, 10 * time.Hour, 1},
		{"above it", 3, 24 * time.Hour, 0},
		{"of a quarantined worker id", 4, 30 * time.Hour, 0},
	} {
		id := compose(t, l, now.Add(x.ahead), x.worker, 5)
		if s := counted("eu", i, id); s.Used != 0 || s.Open != x.open {
			t.Errorf("worker %d, %s: %d used, %d open; want 0, %d", x.worker, x.name, s.Used, s.Open, x.open)
		}
	}
	id := compose(t, l, now.Add(10*time.Hour), 0, 5)
	apply(t, r, imports.Facts{Layout: l, Sightings: []imports.Sighting{{Worker: 0}}, LastIDs: []snowfence.ID{id}, Margin: imports.DefaultMargin, Ahead: 11 * time.Hour, Now: now})
	again, err := merge.IssuerOf(t.Context(), "eu", "mem://", r)
	if err != nil {
		t.Fatal(err)
	}
	if s := counted("eu", again, id); s.Open != 0 {
		t.Errorf("%d are open after the remedy", s.Open)
	}
}

// TestRowsOfAnIssuerThatGoesOnAreNoStrays: while its ids are read a namespace issues
// more of them, above the bounds that were read before.
func TestRowsOfAnIssuerThatGoesOnAreNoStrays(t *testing.T) {
	l := snowfence.DefaultLayout()
	i, _ := namespace(t, "eu", l, nil, map[int64]stored.Register{0: {Term: 1, Floor: minutes(l, -10), Until: minutes(l, 1), Holder: nonce}})
	id := compose(t, l, now.Add(5*time.Minute), 0, 1)
	s := merge.NewStrays("eu", i)
	s.Add(id)
	if s.Open != 1 {
		t.Errorf("read at once: %d open, want 1", s.Open)
	}
	s = merge.NewStrays("eu", i)
	s.ReadAt(now.Add(5 * time.Minute))
	s.Add(id)
	if s.Open != 0 {
		t.Errorf("read five minutes later: %d open, want 0", s.Open)
	}
}

// apply carries out a take-over.
func apply(t *testing.T, r *roster.Roster, facts imports.Facts) {
	t.Helper()
	plan, err := imports.NewPlan(facts)
	if err != nil {
		t.Fatal(err)
	}
	plan, err = imports.Draft(t.Context(), r, plan)
	if err != nil {
		t.Fatal(err)
	}
	if err := imports.Apply(t.Context(), r, plan, roster.Patience{}, nil); err != nil {
		t.Fatal(err)
	}
}

func TestStraysAreThoseOfTheSetsOfTheIssuer(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 0))
	for range 300 {
		i := tiny(t, random, "a")
		all := issued(i)
		s := merge.NewStrays("b", i)
		var used, open uint64
		for id := range snowfence.ID(1 << 8) {
			s.Add(id)
			var u, o bool
			for _, x := range all[id] {
				u, o = u || !x.open, o || x.open
			}
			if u {
				used++
			}
			if o {
				open++
			}
		}
		if s.Used != used || s.Open != open {
			t.Fatalf("%d used, %d open; want %d, %d: %+v", s.Used, s.Open, used, open, i)
		}
	}
}

// TestTheRemedyIsEnough sets the floors that the advice names, and looks again.
func TestTheRemedyIsEnough(t *testing.T) {
	l := snowfence.DefaultLayout()
	i, r := namespace(t, "eu", l, nil, map[int64]stored.Register{0: {Term: 1, Floor: minutes(l, -10), Until: minutes(l, 1), Holder: nonce}})
	ids := []snowfence.ID{
		compose(t, l, now.Add(50*time.Hour), 0, 1), compose(t, l, now.Add(20*time.Minute), 3, 1), compose(t, l, now.Add(51*time.Hour), 4, 4095),
	}
	s := counted("us", i, ids...)
	if len(s.Workers) != 3 || s.Workers[1].Worker != 3 || s.Workers[2].Last != merge.ID(ids[2]) || !strings.Contains(s.Advice, "above id "+ids[2].String()) {
		t.Fatalf("%+v", s)
	}
	apply(t, r, imports.Facts{
		Layout: l, Sightings: []imports.Sighting{{Worker: 0}, {Worker: 3}, {Worker: 4}}, LastIDs: ids[2:], Margin: imports.DefaultMargin, Ahead: 52 * time.Hour, Now: now,
	})
	again, err := merge.IssuerOf(t.Context(), "eu", "mem://", r)
	if err != nil {
		t.Fatal(err)
	}
	if s := counted("us", again, ids...); s.Open != 0 || s.Advice != "" {
		t.Errorf("%d may still be issued: %s", s.Open, s.Advice)
	}
}

func TestAdviceWhereNoFloorHelps(t *testing.T) {
	l := snowfence.DefaultLayout()
	i, _ := namespace(t, "eu", l, nil, nil)
	last, err := l.Compose(snowfence.Parts{Tick: l.HorizonTick() - 1, Worker: 7})
	if err != nil {
		t.Fatal(err)
	}
	for want, s := range map[string]*merge.Strays{
		"or quarantine these worker ids for good":  counted("us", i, last),
		"or keep the issuer from these worker ids": counted("us", foreign(t, "eu=layout:default#7"), compose(t, l, now.Add(time.Hour), 7, 1)),
	} {
		if !strings.Contains(s.Advice, want) {
			t.Errorf("%q is not in %q", want, s.Advice)
		}
	}
}

func TestVeryManyWorkersAreCountedAndTheHighestIsNamed(t *testing.T) {
	l := layout(t, "s28-worker22-seq12")
	i, _ := namespace(t, "eu", l, nil, nil)
	s := merge.NewStrays("us", i)
	const n = 70_000
	for worker := range int64(n) {
		s.Add(compose(t, l, now.Add(time.Minute), worker, 0))
	}
	highest := compose(t, l, now.Add(2*time.Minute), n, 0)
	s.Add(highest)
	s.End()
	if s.Open != n+1 || len(s.Workers) >= n || !strings.Contains(s.Advice, highest.String()) {
		t.Errorf("%d open, %d workers: %s", s.Open, len(s.Workers), s.Advice)
	}
}
