package merge

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/overlap"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/text"
)

// Issuer is a system that issues ids: a namespace, or another system of which the
// layout and the worker numbers are known. Its JSON form is part of a [Report].
type Issuer struct {
	// Side is the name of the side whose ids it issues.
	Side string `json:"-"`
	// Name says what it is, for people: "namespace orders of file:/srv/ids",
	// "layout twitter". It has no password.
	Name   string           `json:"issuer"`
	Layout snowfence.Layout `json:"layout"`

	// Namespace and Store are how the program's verbs name it by --namespace and
	// --store, redacted; both are empty for another system.
	Namespace string `json:"namespace,omitempty"`
	Store     string `json:"store,omitempty"`
	// Datacenters are those that the namespace's record lists; none means all.
	Datacenters []int64 `json:"datacenters"`
	// Quarantined are worker numbers that no one may claim while they are marked.
	Quarantined []int64 `json:"quarantined"`
	// Unreadable are worker numbers whose registers can't be read; they are taken
	// to have stamped anything. Strays counts keys that are no worker number's.
	Unreadable []int64 `json:"unreadable"`
	Strays     int64   `json:"-"`

	// incarnation is that of the namespace's record; empty for another system.
	incarnation string

	// Now is the time by which past and future are told apart.
	Now time.Time `json:"-"`
	// Stretches are the worker numbers that it has, in ascending order and apart.
	Stretches []Stretch `json:"-"`
}

// Stretch is neighbouring worker numbers with the same ticks.
type Stretch struct {
	Workers overlap.Workers
	// Used are the ticks that may have been stamped already.
	Used overlap.Ticks
	// Term is the upper part of Used, of the present terms. The lower part is of
	// earlier ones, which no register tells.
	Term overlap.Ticks
	// Open are the ticks that may be stamped from now on.
	Open overlap.Ticks
}

// none is an interval of no ticks.
func none() overlap.Ticks { return overlap.Ticks{First: 0, Last: -1} }

// Managed reports whether it is a namespace: registers tell its past and bound its future.
func (i *Issuer) Managed() bool { return i.Namespace != "" }

// IssuerOf reads a namespace. It reads every register once and writes nothing. The
// errors are those of [roster.Roster.Workers].
func IssuerOf(ctx context.Context, side, shownStore string, r *roster.Roster) (*Issuer, error) {
	if r.Layout().Wide {
		return nil, fmt.Errorf("namespace %s of %s: its layout %s %w", r.Name(), shownStore, r.Layout(), errWide)
	}
	i := &Issuer{
		Side: side, Name: fmt.Sprintf("namespace %s of %s", r.Name(), shownStore), Layout: r.Layout(),
		Store: shownStore, Namespace: r.Name(), Now: r.Now(), incarnation: r.Record().Incarnation,
		// Not nil: JSON has null for that.
		Datacenters: append([]int64{}, r.Record().Datacenters...), Unreadable: []int64{}, Quarantined: []int64{},
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
	slices.SortFunc(i.Stretches, func(a, b Stretch) int { return cmp.Compare(a.Workers.First, b.Workers.First) })
	slices.Sort(i.Unreadable)
	slices.Sort(i.Quarantined)
	i.fill(owned(r))
	i.join()
	return i, nil
}

// is reports whether both are one namespace, named twice. A copy of a store has
// the same incarnation, but another URL, and may issue what the first does.
func (i *Issuer) is(other *Issuer) bool {
	return i.Managed() && i.Store == other.Store && i.Namespace == other.Namespace && i.incarnation == other.incarnation
}

// from are the ticks from a first one on, or from now on, up to a last one.
func (i *Issuer) from(first, last snowfence.Tick) overlap.Ticks {
	return overlap.Ticks{First: max(first, i.Layout.TickAt(i.Now), 0), Last: last}
}

// stretchOf reads the register of a worker number.
//
// In a first term Used begins at the floor; in a later one at 0, as earlier terms lie
// below the floor. A first term whose floor and until are equal was written by an
// operator, perhaps in a take-over: then the ticks below are the old system's.
func (i *Issuer) stretchOf(r *roster.Roster, w roster.Worker) Stretch {
	x, last := w.Register, i.Layout.HorizonTick()-1
	term := overlap.Ticks{First: x.Floor, Last: x.Until - 1}
	s := Stretch{Workers: overlap.Workers{First: w.Number, Last: w.Number}, Used: overlap.Ticks{First: 0, Last: x.Until - 1}, Term: term}
	if x.Term == 1 && !term.Empty() {
		s.Used = term
	}
	// The rest of its holder's term: all that is open where nobody can claim any more.
	s.Open = none()
	if x.Holder != "" {
		s.Open = i.from(x.Floor, x.Until-1)
	}
	switch {
	case w.State == roster.Unreadable:
		i.Unreadable = append(i.Unreadable, w.Number)
		s.Used, s.Term, s.Open = overlap.Ticks{First: 0, Last: last}, none(), i.from(0, last)
	case w.State == roster.Foreign && x.Layout != r.Record().Layout:
		// Ticks of another layout are no ticks of this one.
		s.Used, s.Term, s.Open = overlap.Ticks{First: 0, Last: last}, none(), none()
	case w.State == roster.Foreign, w.State == roster.UsedUp:
	case w.State == roster.Quarantined:
		i.Quarantined = append(i.Quarantined, w.Number)
	case !r.Own(w.Number):
	case w.State == roster.Held:
		s.Open = i.from(x.Floor, last)
	default:
		s.Open = i.from(x.Until, last)
	}
	if !r.Own(w.Number) && w.State != roster.Held {
		// It is not this store's to give away.
		s.Open = none()
	}
	return s
}

// owned are the worker numbers that the store may give away, in ascending order.
func owned(r *roster.Roster) []overlap.Workers {
	datacenters := r.Record().Datacenters
	if len(datacenters) == 0 {
		return []overlap.Workers{overlap.AllWorkers(r.Layout())}
	}
	var all []overlap.Workers
	width := r.Layout().Bits(snowfence.Worker)
	for _, d := range slices.Sorted(slices.Values(datacenters)) {
		all = append(all, overlap.Workers{First: d << width, Last: (d+1)<<width - 1})
	}
	return all
}

// fill adds the worker numbers that were never claimed: they have no register, and
// can be claimed from now on. Owned is in ascending order.
func (i *Issuer) fill(owned []overlap.Workers) {
	var gaps []Stretch
	add := func(first, last int64) {
		if first <= last {
			gaps = append(gaps, Stretch{Workers: overlap.Workers{First: first, Last: last}, Used: none(), Term: none(), Open: i.from(0, i.Layout.HorizonTick()-1)})
		}
	}
	registered := i.Stretches
	for _, w := range owned {
		next := w.First
		for ; len(registered) > 0 && registered[0].Workers.First <= w.Last; registered = registered[1:] {
			n := registered[0].Workers.First
			add(next, n-1)
			next = max(next, n+1)
		}
		add(next, w.Last)
	}
	i.Stretches = append(i.Stretches, gaps...)
	slices.SortFunc(i.Stretches, func(a, b Stretch) int { return cmp.Compare(a.Workers.First, b.Workers.First) })
}

// join makes one stretch of neighbours with the same ticks.
func (i *Issuer) join() {
	joined := i.Stretches[:0]
	for _, s := range i.Stretches {
		if n := len(joined); n > 0 {
			last := &joined[n-1]
			if last.Workers.Last+1 == s.Workers.First && last.Used == s.Used && last.Term == s.Term && last.Open == s.Open {
				last.Workers.Last = s.Workers.Last
				continue
			}
		}
		joined = append(joined, s)
	}
	i.Stretches = slices.Clip(joined)
}

// ForeignIssuer returns the issuer that another system is. Its clocks are taken to be
// right: ticks before now were stamped before now.
func ForeignIssuer(side string, f Foreign, now time.Time) *Issuer {
	i := &Issuer{Side: side, Name: "layout " + f.Text, Layout: f.Layout, Now: now, Datacenters: []int64{}, Quarantined: []int64{}, Unreadable: []int64{}}
	life := overlap.AllTicks(f.Layout)
	if !f.Since.IsZero() {
		life.First = max(life.First, f.Layout.TickAt(f.Since))
	}
	if !f.Until.IsZero() {
		life.Last = min(life.Last, f.Layout.TickAt(f.Until))
	}
	tick := f.Layout.TickAt(now)
	used := life.Meet(overlap.Ticks{First: math.MinInt64, Last: tick})
	open := life.Meet(overlap.Ticks{First: tick, Last: math.MaxInt64})
	for _, w := range f.Workers {
		i.Stretches = append(i.Stretches, Stretch{Workers: w, Used: used, Term: used, Open: open})
	}
	return i
}

// find returns what is known of a worker number; false if the issuer lacks it.
func (i *Issuer) find(worker int64) (Stretch, bool) {
	at, exact := slices.BinarySearchFunc(i.Stretches, worker, func(s Stretch, n int64) int { return cmp.Compare(s.Workers.First, n) })
	if !exact {
		at--
	}
	if at < 0 || !i.Stretches[at].Workers.Has(worker) {
		return Stretch{}, false
	}
	return i.Stretches[at], true
}

// The kinds of ticks.
func used(s Stretch) overlap.Ticks { return s.Used }
func term(s Stretch) overlap.Ticks { return s.Term }
func open(s Stretch) overlap.Ticks { return s.Open }

// life is all ticks that were or may be stamped. A gap between used and open does not
// matter: a clock that is right has passed it.
func life(s Stretch) overlap.Ticks {
	switch {
	case s.Used.Empty():
		return s.Open
	case s.Open.Empty():
		return s.Used
	}
	return overlap.Ticks{First: min(s.Used.First, s.Open.First), Last: max(s.Used.Last, s.Open.Last)}
}

// pieces are the ids with ticks of a kind, by worker numbers in ascending order.
func (i *Issuer) pieces(ticks func(Stretch) overlap.Ticks) []overlap.Set {
	var all []overlap.Set
	for _, s := range i.Stretches {
		if t := ticks(s); !t.Empty() {
			all = append(all, overlap.Set{Layout: i.Layout, Workers: s.Workers, Ticks: t})
		}
	}
	return all
}

// few makes at most [maxSets] sets of pieces: neighbours are taken together as if each
// had the ticks of all. So they have every id of the pieces, and others.
func few(pieces []overlap.Set) []overlap.Set {
	var all []overlap.Set
	for group := range slices.Chunk(pieces, max(1, (len(pieces)+maxSets-1)/maxSets)) {
		one := group[0]
		for _, p := range group[1:] {
			one.Workers.Last = p.Workers.Last
			one.Ticks = overlap.Ticks{First: min(one.Ticks.First, p.Ticks.First), Last: max(one.Ticks.Last, p.Ticks.Last)}
		}
		all = append(all, one)
	}
	return all
}

// common returns the pieces of worker numbers that two lists of one layout share, with
// the ticks that they share, which may be none.
func common(as, bs []overlap.Set) []overlap.Set {
	var all []overlap.Set
	for len(as) > 0 && len(bs) > 0 {
		both := as[0]
		both.Workers, both.Ticks = both.Workers.Meet(bs[0].Workers), both.Ticks.Meet(bs[0].Ticks)
		if !both.Workers.Empty() {
			all = append(all, both)
		}
		if as[0].Workers.Last < bs[0].Workers.Last {
			as = as[1:]
		} else {
			bs = bs[1:]
		}
	}
	return all
}

// workersOf returns the worker numbers of pieces, as few ranges as can be.
func workersOf(pieces []overlap.Set) []text.Range {
	ranges := make([]text.Range, len(pieces))
	for n, p := range pieces {
		ranges[n] = text.Range(p.Workers)
	}
	return text.Join(ranges)
}
