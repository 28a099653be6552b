package merge

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/roster"
)

// Issuer is a system that issues ids of a side: a namespace, or another system with a known
// layout and known worker numbers. Its JSON form is part of a [Report].
type Issuer struct {
	Side string `json:"-"`
	// Name describes it for people, such as "namespace orders of file:/srv/ids" or
	// "layout twitter". It has no password.
	Name   string           `json:"issuer"`
	Layout snowfence.Layout `json:"layout"`
	// Namespace and Store, redacted, are empty for another system.
	Namespace string `json:"namespace,omitempty"`
	Store     string `json:"store,omitempty"`
	// Datacenters are listed by the namespace's record; an empty list means all.
	Datacenters []int64 `json:"datacenters"`
	// Unreadable are worker numbers whose registers can't be read; they are taken to
	// have stamped anything. Strays counts keys without a worker number.
	Unreadable []int64 `json:"unreadable"`
	Strays     int64   `json:"-"`
	// Now is the time that separates past and future, and Stretches are the
	// worker numbers, in ascending order and apart.
	Now         time.Time `json:"-"`
	Stretches   []Stretch `json:"-"`
	incarnation string    // of the namespace's record
}

// Stretch is neighbouring worker numbers with the same ticks.
type Stretch struct {
	Workers Workers
	// Used are the ticks that may have been stamped already.
	Used Ticks
	// Open are the ticks that may be stamped from now on.
	Open Ticks
}

// none is the empty interval.
func none() Ticks { return Ticks{0, -1} }

// IssuerOf reads a namespace. It reads every register once and writes nothing. It returns the errors of
// [roster.Roster.Workers].
func IssuerOf(ctx context.Context, side, shownStore string, r *roster.Roster) (*Issuer, error) {
	if r.Layout().Wide {
		return nil, fmt.Errorf("namespace %s of %s: its layout %s %w", r.Name(), shownStore, r.Layout(), errWide)
	}
	i := &Issuer{
		Side: side, Name: fmt.Sprintf("namespace %s of %s", r.Name(), shownStore), Layout: r.Layout(),
		Store: shownStore, Namespace: r.Name(), Now: r.Now(), incarnation: r.Record().Incarnation,
		// Not nil: JSON has null for that.
		Datacenters: append([]int64{}, r.Record().Datacenters...), Unreadable: []int64{},
	}
	for w, err := range r.Workers(ctx) {
		switch {
		case err != nil:
			return nil, err
		case w.Number == roster.Stray:
			i.Strays++
		default:
			i.Stretches = append(i.Stretches, i.stretchOf(r, w))
		}
	}
	i.sort()
	slices.Sort(i.Unreadable)
	i.fill(i.Datacenters)
	return i, nil
}

// is reports whether both are one namespace, named twice. A copy of a store has
// the same incarnation, but another URL, and may issue the same ids.
func (i *Issuer) is(other *Issuer) bool {
	return i.Namespace != "" && i.Store == other.Store && i.Namespace == other.Namespace && i.incarnation == other.incarnation
}

// from are the ticks from a first one on, or from now on, up to a last one.
func (i *Issuer) from(first, last snowfence.Tick) Ticks {
	return Ticks{max(first, i.Layout.TickAt(i.Now), 0), last}
}

// stretchOf reads the register of a worker number.
//
// In a first term Used begins at the floor; in a later one at 0, as earlier terms lie
// below the floor. A first term whose floor and until are equal was written by an
// operator, perhaps in an import: then the ticks below are the old system's.
func (i *Issuer) stretchOf(r *roster.Roster, w roster.Worker) Stretch {
	x, last := w.Register, i.Layout.HorizonTick()-1
	s := Stretch{Workers: Workers{w.Number, w.Number}, Used: Ticks{0, x.Until - 1}}
	if x.Term == 1 && x.Floor < x.Until {
		s.Used.First = x.Floor
	}
	// The rest of its holder's term: all that is open where nobody can claim any more.
	s.Open = none()
	if x.Holder != "" {
		s.Open = i.from(x.Floor, x.Until-1)
	}
	own := r.Own(w.Number)
	switch {
	case w.State == roster.Unreadable:
		i.Unreadable = append(i.Unreadable, w.Number)
		s.Used, s.Open = Ticks{0, last}, i.from(0, last)
	case w.State == roster.Foreign && x.Layout != r.Record().Layout:
		// Its ticks are of another layout.
		s.Used, s.Open = Ticks{0, last}, none()
	case w.State == roster.Quarantined, w.State == roster.Foreign, w.State == roster.UsedUp, !own:
	case w.State == roster.Held:
		s.Open = i.from(x.Floor, last)
	default:
		s.Open = i.from(x.Until, last)
	}
	if !own && w.State != roster.Held {
		// It is not this store's to give away.
		s.Open = none()
	}
	return s
}

// fill adds the unclaimed worker numbers: they lack a register, and can be claimed from now on. Without
// datacenters the store may give all away.
func (i *Issuer) fill(datacenters []int64) {
	owned := []Workers{allWorkers(i.Layout)}
	if len(datacenters) > 0 {
		owned = nil
	}
	width := i.Layout.Bits(snowfence.Worker)
	for _, d := range slices.Sorted(slices.Values(datacenters)) {
		owned = append(owned, Workers{d << width, (d+1)<<width - 1})
	}
	registered := i.Stretches
	for _, gap := range owned {
		for _, s := range registered {
			if n := s.Workers.First; gap.Has(n) {
				i.unclaimed(Workers{gap.First, n - 1})
				gap.First = n + 1
			}
		}
		i.unclaimed(gap)
	}
	i.sort()
}

// unclaimed adds unclaimed worker numbers.
func (i *Issuer) unclaimed(w Workers) {
	if !w.Empty() {
		i.Stretches = append(i.Stretches, Stretch{Workers: w, Used: none(), Open: i.from(0, i.Layout.HorizonTick()-1)})
	}
}

// sort puts the stretches in ascending order.
func (i *Issuer) sort() {
	slices.SortFunc(i.Stretches, func(a, b Stretch) int { return cmp.Compare(a.Workers.First, b.Workers.First) })
}

// ForeignIssuer returns the issuer of another system, taken to have begun with its epoch and to go on.
// Its clocks are taken to be right: ticks before now were stamped before now.
func ForeignIssuer(side string, f Foreign, now time.Time) *Issuer {
	i := &Issuer{
		Side: side, Name: "layout " + f.Text, Layout: f.Layout, Now: now,
		Datacenters: []int64{}, Unreadable: []int64{},
	}
	used := allTicks(f.Layout)
	open := i.from(0, used.Last)
	used.Last = min(used.Last, f.Layout.TickAt(now))
	for _, w := range f.Workers {
		i.Stretches = append(i.Stretches, Stretch{Workers: w, Used: used, Open: open})
	}
	return i
}

// pieces are the ids with used or with open ticks, by worker numbers in ascending order.
func (i *Issuer) pieces(open bool) []set {
	var all []set
	for _, s := range i.Stretches {
		ticks := s.Used
		if open {
			ticks = s.Open
		}
		if !ticks.Empty() {
			all = append(all, set{Layout: i.Layout, Workers: s.Workers, Ticks: ticks})
		}
	}
	return all
}
