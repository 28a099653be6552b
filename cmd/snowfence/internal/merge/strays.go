package merge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/overlap"
	"snowfence.example/snowfence/cmd/snowfence/internal/takeover"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/internal/text"
)

// maxStrays is how many worker numbers are counted apart, the others together.
const maxStrays = 1 << 16

// Skew is how far an issuer's clock is taken to be ahead of the one by which ids are
// read, when its own ids are judged: the default policy's max-rollback.
const Skew = takeover.DefaultMargin

// Strays are the ids of a side that an issuer may have issued, or may still issue. Its
// JSON form is part of a [Report].
type Strays struct {
	// Side has the ids, Issuer might issue them, and Name is its name.
	Side   string  `json:"side"`
	Name   string  `json:"issuer"`
	Issuer *Issuer `json:"-"`
	// Own is true if the issuer is of the same side. Then an id counts only if its tick
	// is ahead of the clock by more than [Skew] and the issuer may stamp it from now
	// on: it came from elsewhere, or from a clock that is wrong.
	Own bool `json:"own"`

	// Used is how many ids carry a tick that the issuer may have stamped with their
	// worker number, Open how many one that it still may. An id may be both.
	Used uint64 `json:"ids_maybe_issued"`
	Open uint64 `json:"ids_still_to_issue"`
	// Below is how many of Open, where Own is true, lie below the until of their
	// worker number's register. Its holder can have stamped those, by a clock that is
	// ahead; nobody can have stamped the others under this namespace.
	Below uint64 `json:"ids_below_bounds"`
	// Rest is how many of Open are of worker numbers that are not in Workers.
	Rest uint64 `json:"-"`
	// Workers are the ids of Open by worker number, in order, after [Strays.End];
	// Advice says what to do about them, if there are any.
	Workers []Stray `json:"workers"`
	Advice
	// Compared is true if the issuer's own ids were compared with those of all sides.
	Compared bool `json:"-"`

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
	Worker int64 `json:"worker"`
	// Open is how many.
	Open uint64 `json:"ids"`
	// First and Last are the ids of the lowest and the highest tick, which is Until.
	First ID      `json:"first"`
	Last  ID      `json:"last"`
	Until Instant `json:"until"`
}

// NewStrays counts the ids of a side against an issuer.
func NewStrays(side string, i *Issuer) *Strays {
	s := &Strays{Side: side, Name: i.Name, Issuer: i, Own: side == i.Side, Workers: []Stray{}, splitter: overlap.NewSplitter(i.Layout), workers: map[int64]*Stray{}}
	s.ReadAt(i.Now)
	return s
}

// ReadAt sets when the ids that are added next were read, at first the issuer's now. An
// issuer goes on meanwhile: a tick that was ahead of the clock may have passed.
func (s *Strays) ReadAt(now time.Time) { s.reach = s.Issuer.Layout.TickAt(now.Add(Skew)) }

// Add takes one id, in any order.
func (s *Strays) Add(id snowfence.ID) {
	tick, worker, ok := s.splitter.Split(id)
	if !ok {
		return
	}
	if !s.known || !s.at.Workers.Has(worker) {
		if s.at, s.known = s.Issuer.find(worker); !s.known {
			return
		}
	}
	used, open, below := s.at.Used.Has(tick), s.at.Open.Has(tick), false
	if s.Own {
		// A tick that the clock has passed is never stamped again.
		used, open = false, open && tick > s.reach
		if open && tick <= s.at.Used.Last {
			// Below a register's until the ids may be its holder's. But the holder will
			// come to these ticks, unless its clock is ahead. A floor that is ahead of the
			// clock shows that it is.
			below = s.at.Term.First <= s.reach
			open = below
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
		stray = &Stray{Worker: worker, First: ID(id), Last: ID(id)}
		s.workers[worker] = stray
	}
	stray.Open++
	// The ids of one worker number ascend with their ticks.
	stray.First = ID(min(uint64(stray.First), uint64(id)))
	stray.Last = ID(max(uint64(stray.Last), uint64(id)))
}

// End is called after the last id.
func (s *Strays) End() {
	for _, stray := range s.workers {
		tick, _, _ := s.splitter.Split(snowfence.ID(stray.Last))
		stray.Until = Instant{tick, Time{s.Issuer.Layout.TimeOf(tick)}}
		s.Workers = append(s.Workers, *stray)
	}
	slices.SortFunc(s.Workers, func(a, b Stray) int { return cmp.Compare(a.Worker, b.Worker) })
	if s.Open > 0 {
		s.Advice = s.remedy()
	}
}

// AtStake reports whether the issuer may still issue ids of the side, or may have issued
// some while its own ids are not known.
func (s *Strays) AtStake() bool { return s.Open > 0 || s.Used > 0 && !s.Compared }

// remedy says what keeps the issuer from the ids.
func (s *Strays) remedy() Advice {
	i, l := s.Issuer, s.Issuer.Layout
	numbers := make([]int64, len(s.Workers))
	for n, stray := range s.Workers {
		numbers[n] = stray.Worker
	}
	ranges := text.RangesOf(numbers)
	list := strings.ReplaceAll(text.List(ranges, len(ranges)), " ", "")
	if s.Rest > 0 {
		list = "all" // not all of them are known one by one
	}
	end := l.TimeOf(s.tick + 1)
	ahead := end.Sub(i.Now)
	switch {
	case !i.Managed():
		return Advice{Text: fmt.Sprintf("%s has no floors that could be set: renumber these ids, or keep it from using worker id %s before %s by its own clock", i.Name, list, instantText(end))}
	case s.tick+1+snowfence.Tick(takeover.DefaultMargin/l.Unit)+1 >= l.HorizonTick():
		return Advice{Text: fmt.Sprintf("the ticks reach to the layout's horizon, so no floor can lie above them: renumber these ids, or quarantine worker id %s for good (snowfence workers quarantine)", list)}
	case ahead == math.MaxInt64:
		return Advice{Text: fmt.Sprintf("the ticks lie more than 292 years ahead: renumber these ids, or quarantine worker id %s (snowfence workers quarantine)", list)}
	}
	a := Advice{
		Text:    "set the floor of worker id " + list + " above the highest of these ids, which ends the terms that began below",
		Command: fmt.Sprintf("snowfence workers import list --workers %s --last-id %s --store %s --namespace %s", list, s.last, Quote(i.Store), i.Namespace),
	}
	if ahead > takeover.DefaultAhead {
		a.Command += fmt.Sprintf(" --ahead %dh", int64(ahead/time.Hour)+1)
		a.Text += fmt.Sprintf("; then no process can claim them before %s", instantText(end.Add(takeover.DefaultMargin)))
	}
	if slices.ContainsFunc(i.Unreadable, func(worker int64) bool { return s.workers[worker] != nil }) {
		a.Text += "; a register that can't be read gets none, so repair it before (snowfence namespace verify)"
	}
	if strings.Contains(i.Store, engine.Hidden) {
		a.Text += "; " + engine.Hidden + " stands for what is not shown"
	}
	a.Command += " --yes"
	return a
}
