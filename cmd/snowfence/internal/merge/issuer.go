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
)

// Issuer is what issues ids: a namespace, or another system of which the layout
// and the worker numbers are known.
type Issuer struct {
	// Side is the name of the side whose ids it issues.
	Side string
	// Name says what it is, for people: "namespace orders of file:/srv/ids",
	// "layout twitter". It has no password.
	Name   string
	Layout snowfence.Layout

	// Store and Namespace are how the program's verbs name it by --store, redacted,
	// and --namespace; both are empty for another system.
	Store, Namespace string
	// Datacenters are those that the namespace's record lists; none means all.
	Datacenters []int64
	// Unreadable are worker numbers whose registers can't be read; they are taken
	// to have stamped anything. Strays are keys that are no worker number's.
	Unreadable []int64
	Strays     int64
	// Quarantined are worker numbers that no one may claim, as long as they are
	// marked.
	Quarantined []int64

	// incarnation is that of the namespace's record; empty for another system.
	incarnation string

	// Now is the time by which past and future are told apart.
	Now time.Time
	// Stretches are the worker numbers that it has, in ascending order and apart.
	Stretches []Stretch
}

// Stretch is worker numbers of which the same is known.
type Stretch struct {
	Workers overlap.Workers
	// Used are the ticks that may have been stamped already.
	Used overlap.Ticks
	// Term are the ticks of the present terms, as far as they may have been stamped:
	// the upper part of Used. What lies below is of terms of which nothing is kept.
	Term overlap.Ticks
	// Open are the ticks that may be stamped from now on.
	Open overlap.Ticks
}

// none is an interval of no ticks.
func none() overlap.Ticks { return overlap.Ticks{First: 0, Last: -1} }

// Managed reports whether it is a namespace, with registers that tell its past and
// bound its future.
func (i *Issuer) Managed() bool { return i.Namespace != "" }

// IssuerOf reads a namespace. It reads every register once and writes nothing. The
// errors are those of [roster.Roster.Workers].
func IssuerOf(ctx context.Context, side, shownStore string, r *roster.Roster) (*Issuer, error) {
	i := &Issuer{
		Side: side, Name: fmt.Sprintf("namespace %s of %s", r.Name(), shownStore), Layout: r.Layout(),
		Store: shownStore, Namespace: r.Name(), Datacenters: r.Record().Datacenters, Now: r.Now(),
		incarnation: r.Record().Incarnation,
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

// present is the tick of now, at least 0.
func (i *Issuer) present() snowfence.Tick { return max(i.Layout.TickAt(i.Now), 0) }

// stretchOf says what the register of a worker number tells.
//
// Used reaches from the floor if this is the first term: before it nothing was
// stamped. Of a later one the terms before it lie somewhere below. A first term
// whose floor and until are equal was written by an operator, who may have taken
// over from another system: then the ticks below are that system's.
func (i *Issuer) stretchOf(r *roster.Roster, w roster.Worker) Stretch {
	s := Stretch{Workers: overlap.Workers{First: w.Number, Last: w.Number}, Used: none(), Term: none(), Open: none()}
	last := i.Layout.HorizonTick() - 1
	x := w.Register
	s.Term = overlap.Ticks{First: x.Floor, Last: x.Until - 1}
	s.Used = overlap.Ticks{First: 0, Last: x.Until - 1}
	if x.Term == 1 && x.Floor < x.Until {
		s.Used = s.Term
	}
	switch w.State {
	case roster.Unreadable:
		i.Unreadable = append(i.Unreadable, w.Number)
		s.Used, s.Term = overlap.Ticks{First: 0, Last: last}, none()
		s.Open = overlap.Ticks{First: i.present(), Last: last}
	case roster.Foreign:
		// Nobody claims it. Of another layout its ticks are no ticks of this one.
		if x.Layout != r.Record().Layout {
			s.Used, s.Term = overlap.Ticks{First: 0, Last: last}, none()
		} else {
			s.Open = i.rest(w)
		}
	case roster.UsedUp:
		s.Open = i.rest(w)
	case roster.Quarantined:
		i.Quarantined = append(i.Quarantined, w.Number)
		s.Open = i.rest(w)
	case roster.Held:
		s.Open = overlap.Ticks{First: max(x.Floor, i.present()), Last: last}
	default:
		s.Open = overlap.Ticks{First: max(x.Until, i.present()), Last: last}
	}
	if !r.Own(w.Number) {
		// It is not this store's to give away. Its holder, if it has one, ends when it
		// reads the record.
		s.Open = s.Open.Meet(overlap.Ticks{First: x.Floor, Last: x.Until - 1})
		if w.State != roster.Held {
			s.Open = none()
		}
	}
	return s
}

// rest is what may still be stamped with a worker number that nobody claims any
// more: the rest of the term of its holder, who may go on until it finds out, or
// until the horizon where that is its until.
func (i *Issuer) rest(w roster.Worker) overlap.Ticks {
	if w.Register.Holder == "" {
		return none()
	}
	return overlap.Ticks{First: max(w.Register.Floor, i.present()), Last: w.Register.Until - 1}
}

// owned are the worker numbers that the namespace's store may give away.
func owned(r *roster.Roster) []overlap.Workers {
	datacenters := r.Record().Datacenters
	if len(datacenters) == 0 {
		return []overlap.Workers{overlap.AllWorkers(r.Layout())}
	}
	var all []overlap.Workers
	width := r.Layout().Bits(snowfence.Worker)
	for _, d := range datacenters {
		all = append(all, overlap.Workers{First: d << width, Last: (d+1)<<width - 1})
	}
	return all
}

// fill adds the worker numbers that were never claimed: they have no register, and
// can be claimed from now on.
func (i *Issuer) fill(owned []overlap.Workers) {
	free := Stretch{Used: none(), Term: none(), Open: overlap.Ticks{First: i.present(), Last: i.Layout.HorizonTick() - 1}}
	registered := i.Stretches
	var gaps []Stretch
	for _, w := range owned {
		next := w.First
		at, _ := slices.BinarySearchFunc(registered, w.First, func(s Stretch, n int64) int { return cmp.Compare(s.Workers.First, n) })
		for ; at < len(registered) && registered[at].Workers.First <= w.Last; at++ {
			if n := registered[at].Workers.First; n > next {
				free.Workers = overlap.Workers{First: next, Last: n - 1}
				gaps = append(gaps, free)
			}
			next = registered[at].Workers.First + 1
		}
		if next <= w.Last {
			free.Workers = overlap.Workers{First: next, Last: w.Last}
			gaps = append(gaps, free)
		}
	}
	i.Stretches = append(registered, gaps...)
	slices.SortFunc(i.Stretches, func(a, b Stretch) int { return cmp.Compare(a.Workers.First, b.Workers.First) })
}

// join makes one of neighbours of which the same is known.
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

// ForeignIssuer is what is known of another system: that its clocks are right, so
// that what lies before now was stamped before now.
func ForeignIssuer(side string, f Foreign, now time.Time) *Issuer {
	i := &Issuer{Side: side, Name: "layout " + f.Text, Layout: f.Layout, Now: now}
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

// find returns what is known of a worker number; false if the issuer does not have
// it.
func (i *Issuer) find(worker int64) (Stretch, bool) {
	at, exact := slices.BinarySearchFunc(i.Stretches, worker, func(s Stretch, n int64) int { return cmp.Compare(s.Workers.First, n) })
	if !exact {
		at--
	}
	if at < 0 || i.Stretches[at].Workers.Last < worker {
		return Stretch{}, false
	}
	return i.Stretches[at], true
}

// workers are the worker numbers that have ticks of a kind, as few intervals as
// can be.
func (i *Issuer) workers(ticks func(Stretch) overlap.Ticks) []overlap.Workers {
	var all []overlap.Workers
	for _, s := range i.Stretches {
		if ticks(s).Empty() {
			continue
		}
		if n := len(all); n > 0 && all[n-1].Last+1 == s.Workers.First {
			all[n-1].Last = s.Workers.Last
			continue
		}
		all = append(all, s.Workers)
	}
	return all
}

// The kinds of ticks.
func used(s Stretch) overlap.Ticks { return s.Used }
func term(s Stretch) overlap.Ticks { return s.Term }
func open(s Stretch) overlap.Ticks { return s.Open }

// life is whatever was or may be stamped. It has no gap that matters: a tick
// between used and open is one that a clock which is right has passed.
func life(s Stretch) overlap.Ticks {
	switch {
	case s.Used.Empty():
		return s.Open
	case s.Open.Empty():
		return s.Used
	}
	return overlap.Ticks{First: min(s.Used.First, s.Open.First), Last: max(s.Used.Last, s.Open.Last)}
}

// piece is some ticks of some worker numbers of an issuer.
type piece struct {
	workers overlap.Workers
	ticks   overlap.Ticks
}

// pieces are the ticks of a kind, by worker numbers in ascending order.
func (i *Issuer) pieces(ticks func(Stretch) overlap.Ticks) []piece {
	var all []piece
	for _, s := range i.Stretches {
		if t := ticks(s); !t.Empty() {
			all = append(all, piece{s.Workers, t})
		}
	}
	return all
}

// sets are the ids of pieces. Where there are many, neighbours are taken together
// as if each had the ticks of all of them: what comes out has every id that was
// there, and others.
func (i *Issuer) sets(pieces []piece) []overlap.Set {
	var all []overlap.Set
	for group := range slices.Chunk(pieces, max(1, (len(pieces)+maxSets-1)/maxSets)) {
		one := group[0]
		for _, p := range group[1:] {
			one.workers.Last = p.workers.Last
			one.ticks = overlap.Ticks{First: min(one.ticks.First, p.ticks.First), Last: max(one.ticks.Last, p.ticks.Last)}
		}
		all = append(all, overlap.Set{Layout: i.Layout, Ticks: one.ticks, Workers: one.workers})
	}
	return all
}
