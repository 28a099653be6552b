package merge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/overlap"
	"snowfence.example/snowfence/cmd/snowfence/internal/takeover"
)

// maxStrays is how many worker numbers are counted apart. The others are counted
// together.
const maxStrays = 1 << 16

// hidden is what stands in a store's URL in place of a password.
const hidden = "xxxxx"

// Skew is how far an issuer's clock is taken to be ahead of the one by which ids are
// read, when its own ids are judged: the default policy's max-rollback.
const Skew = takeover.DefaultMargin

// Strays are the ids of a side that an issuer may have issued, or may still issue.
type Strays struct {
	// Side is the side that has the ids, and Issuer who might issue them.
	Side   string
	Issuer *Issuer
	// Own is true if the issuer is of the same side. Then an id is counted only if
	// its tick is ahead of the clock by more than [Skew] and the issuer may stamp it
	// from now on: it came from elsewhere, or from a clock that is wrong.
	Own bool

	// Used is how many ids carry a tick that the issuer may have stamped with their
	// worker number, and Open how many one that it may stamp from now on. An id may
	// be both.
	Used, Open uint64
	// Below is how many of Open, where Own is true, lie below the until of their
	// worker number's register. Its holder can have stamped those, by a clock that is
	// ahead; nobody can have stamped the others under this namespace.
	Below uint64
	// Rest is how many of Open are of worker numbers beyond those that are counted
	// one by one.
	Rest uint64

	splitter overlap.Splitter
	workers  map[int64]*Stray
	at       Stretch // of the id before: ids of one worker often come together
	known    bool
	reach    snowfence.Tick // the highest tick that a clock may have come to
	last     snowfence.ID   // of Open, the one with the highest tick
	tick     snowfence.Tick
}

// Stray is the ids of one worker number that may still be issued.
type Stray struct {
	Worker int64
	// Open is how many.
	Open uint64
	// First and Last are the ids with the lowest and the highest tick.
	First, Last snowfence.ID
}

// NewStrays counts the ids of a side against an issuer.
func NewStrays(side string, i *Issuer) *Strays {
	s := &Strays{Side: side, Issuer: i, Own: side == i.Side, splitter: overlap.NewSplitter(i.Layout), workers: map[int64]*Stray{}}
	s.ReadAt(i.Now)
	return s
}

// ReadAt says when the ids that are added next had been read. Until then it is the
// issuer's now. An issuer goes on while its ids are read, so that what was ahead of
// the clock at the beginning need not be so any more.
func (s *Strays) ReadAt(now time.Time) { s.reach = s.Issuer.Layout.TickAt(now.Add(Skew)) }

// Add takes one id, in any order.
func (s *Strays) Add(id snowfence.ID) {
	tick, worker, ok := s.splitter.Split(id)
	if !ok {
		return
	}
	if !s.known || worker < s.at.Workers.First || worker > s.at.Workers.Last {
		if s.at, s.known = s.Issuer.find(worker); !s.known {
			return
		}
	}
	within := func(t overlap.Ticks) bool { return t.First <= tick && tick <= t.Last }
	used := within(s.at.Used)
	open := within(s.at.Open)
	below := false
	if s.Own {
		// What the clock has passed is never stamped again, whoever stamped it.
		used, open = false, open && tick > s.reach
		if open && tick <= s.at.Used.Last {
			// A register's until is above whatever was stamped with its worker number, so
			// these ids may be its holder's. But the holder comes to these ticks yet, unless
			// its clock is ahead; a floor that is ahead of the clock tells that it is.
			below, open = s.at.Term.First <= s.reach, s.at.Term.First <= s.reach
		}
	}
	if used {
		s.Used++
	}
	if !open {
		return
	}
	if s.Open == 0 || tick > s.tick {
		s.last, s.tick = id, tick
	}
	s.Open++
	if below {
		s.Below++
	}
	stray := s.workers[worker]
	if stray == nil {
		if len(s.workers) >= maxStrays {
			s.Rest++
			return
		}
		stray = &Stray{Worker: worker, First: id, Last: id}
		s.workers[worker] = stray
	}
	stray.Open++
	// The ids of one worker number ascend with their ticks.
	if uint64(id) < uint64(stray.First) {
		stray.First = id
	}
	if uint64(id) > uint64(stray.Last) {
		stray.Last = id
	}
}

// Workers are those that may still be issued, by worker number in ascending
// order.
func (s *Strays) Workers() []Stray {
	var all []Stray
	for _, stray := range s.workers {
		all = append(all, *stray)
	}
	slices.SortFunc(all, func(a, b Stray) int { return cmp.Compare(a.Worker, b.Worker) })
	return all
}

// Remedy is what keeps an issuer from the ids.
type Remedy struct {
	// Command is the command line that does it; empty if there is none.
	Command string
	// Text says what it does, or what to do instead.
	Text string
}

// Remedy returns what to do, false if nothing has to be.
func (s *Strays) Remedy() (Remedy, bool) {
	if s.Open == 0 {
		return Remedy{}, false
	}
	i, last, tick := s.Issuer, s.last, s.tick
	var workers []overlap.Workers
	for _, stray := range s.Workers() {
		if n := len(workers); n > 0 && workers[n-1].Last+1 == stray.Worker {
			workers[n-1].Last = stray.Worker
		} else {
			workers = append(workers, overlap.Workers{First: stray.Worker, Last: stray.Worker})
		}
	}
	ranges := make([]string, len(workers))
	for n, w := range workers {
		ranges[n] = WorkersText([]overlap.Workers{w})
	}
	list := strings.Join(ranges, ",")
	if s.Rest > 0 {
		list = "all" // there are more than are known one by one
	}
	end := i.Layout.TimeOf(tick + 1)
	switch {
	case !i.Managed():
		return Remedy{Text: fmt.Sprintf("%s has no floors that could be set: renumber these ids, or keep it from using worker id %s before %s by its own clock", i.Name, list, instantText(end))}, true
	case tick+1+snowfence.Tick(takeover.DefaultMargin/i.Layout.Unit)+1 >= i.Layout.HorizonTick():
		return Remedy{Text: fmt.Sprintf("the ticks reach to the layout's horizon, so no floor can lie above them: renumber these ids, or quarantine worker id %s for good (snowfence workers quarantine)", list)}, true
	}
	command := fmt.Sprintf("snowfence workers import list --workers %s --last-id %s --store %s --namespace %s", list, last, quote(i.Store), i.Namespace)
	text := "set the floor of worker id " + list + " above the highest of these ids; the term of whoever holds one of them ends by that"
	if ahead := end.Sub(i.Now); ahead > takeover.DefaultAhead {
		hours := int64(ahead/time.Hour) + 1
		if ahead == 1<<63-1 {
			return Remedy{Text: fmt.Sprintf("the ticks lie more than 292 years ahead: renumber these ids, or quarantine worker id %s (snowfence workers quarantine)", list)}, true
		}
		command += fmt.Sprintf(" --ahead %dh", hours)
		text += fmt.Sprintf("; nobody can claim them before %s then", instantText(end.Add(takeover.DefaultMargin)))
	}
	if slices.ContainsFunc(i.Unreadable, func(worker int64) bool { return s.workers[worker] != nil }) {
		text += "; a register that can't be read gets none, so repair it before (snowfence namespace verify)"
	}
	if strings.Contains(i.Store, hidden) {
		text += "; " + hidden + " stands for what is not shown"
	}
	return Remedy{Command: command + " --yes", Text: text}, true
}
