package merge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/imports"
)

// maxStrays is how many worker numbers are counted apart.
const maxStrays = 1 << 16

// Skew is the assumed lead of an issuer's clock over ours when its own ids are judged: the
// default policy's max-rollback.
const Skew = imports.DefaultMargin

// Strays are the ids of a side that an issuer may have issued, or may still issue. Its
// JSON form is part of a [Report].
type Strays struct {
	// Side has the ids, Issuer might issue them, and Name is its name.
	Side   string  `json:"side"`
	Name   string  `json:"issuer"`
	Issuer *Issuer `json:"-"`
	// Own is true if the issuer is of the same side. Then an id counts only if its tick is
	// ahead of the clock by more than [Skew] and the issuer may stamp it from now on: it
	// came from elsewhere, or from a clock that is wrong.
	Own bool `json:"own"`
	// Used is how many ids carry a tick that the issuer may have stamped with their worker
	// number, Open how many one that it still may. An id may be both.
	Used uint64 `json:"ids_maybe_issued"`
	Open uint64 `json:"ids_still_to_issue"`
	// Workers are the ids of Open by worker number, after [Strays.End]; of very many worker
	// numbers some are left out. Advice is a line that says what to do about them.
	Workers []Stray `json:"workers"`
	Advice  string  `json:"advice,omitempty"`

	workers map[int64]*Stray
	reach   snowfence.Tick // the highest tick that a clock may have come to
	last    Stray          // the id of the highest tick
}

// Stray is the ids of one worker number that may still be issued: how many there are, the
// lowest and the highest, and the time of the highest.
type Stray struct {
	Worker int64  `json:"worker"`
	Open   uint64 `json:"ids"`
	First  ID     `json:"first"`
	Last   ID     `json:"last"`
	Until  Time   `json:"until"`
}

// NewStrays counts the ids of a side against an issuer.
func NewStrays(side string, i *Issuer) *Strays {
	s := &Strays{Side: side, Name: i.Name, Issuer: i, Own: side == i.Side, Workers: []Stray{}, workers: map[int64]*Stray{}}
	s.ReadAt(i.Now)
	return s
}

// ReadAt sets when the ids that are added next were read, at first the issuer's now. An
// issuer goes on meanwhile: a tick that was ahead of the clock may have passed.
func (s *Strays) ReadAt(now time.Time) { s.reach = s.Issuer.Layout.TickAt(now.Add(Skew)) }

// Add takes one id, in any order.
func (s *Strays) Add(id snowfence.ID) {
	parts, err := s.Issuer.Layout.Decompose(id)
	if err != nil {
		return
	}
	tick, worker := parts.Tick, parts.Datacenter<<s.Issuer.Layout.Bits(snowfence.Worker)|parts.Worker
	at, known := s.Issuer.find(worker)
	if !known {
		return
	}
	if !s.Own && at.Used.Has(tick) {
		s.Used++
	}
	// A tick that the clock has passed is never stamped again. Below a register's until the
	// ids may be its holder's. But the holder will come to these ticks, unless its clock is
	// ahead. A floor that is ahead of the clock shows that it is.
	if !at.Open.Has(tick) || s.Own && (tick <= s.reach || tick <= at.Used.Last && at.Floor > s.reach) {
		return
	}
	s.Open++
	stray := s.workers[worker]
	if stray == nil {
		stray = &Stray{Worker: worker, First: ID(id)}
		if len(s.workers) < maxStrays {
			s.workers[worker] = stray
		}
	}
	stray.Open++
	stray.First = ID(min(uint64(stray.First), uint64(id)))
	// The ids of one worker number ascend with their ticks.
	if uint64(id) >= uint64(stray.Last) {
		stray.Last, stray.Until.Time = ID(id), s.Issuer.Layout.TimeOf(tick)
	}
	if s.Open == 1 || stray.Until.After(s.last.Until.Time) {
		s.last = *stray
	}
}

// End is called after the last id.
func (s *Strays) End() {
	for _, stray := range s.workers {
		s.Workers = append(s.Workers, *stray)
	}
	slices.SortFunc(s.Workers, func(a, b Stray) int { return cmp.Compare(a.Worker, b.Worker) })
	if s.Open == 0 {
		return
	}
	switch i := s.Issuer; {
	case !i.Managed():
		s.Advice = "renumber these ids, or keep the issuer from these worker ids before " + s.last.Until.UTC().Format(time.RFC3339Nano)
	case !s.last.Until.Add(2 * Skew).Before(i.Layout.Horizon()):
		s.Advice = "renumber these ids, or quarantine these worker ids for good: no floor fits between them and the layout's horizon"
	default:
		s.Advice = fmt.Sprintf("set the floors of these worker ids above id %s (workers import, by --last-id), "+
			"or renumber these ids", s.last.Last)
	}
}
