package lease

import (
	"fmt"
	"slices"
	"time"

	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// probing is where an attempt looks for a worker id.
type probing struct {
	worker     int64    // the one being looked at; none while a block is listed
	pinned     sighting // of the pinned one's register when it was read last
	tries      int      // worker ids picked at random
	candidates []int64  // worker ids that a list showed as free; never written to in place
	round      round    // one reading through of all registers
	rounds     int      // readings through that found none free
}

// noWorker is the worker that is looked at while a block is listed.
const noWorker int64 = -1

// round is one reading through of all registers of the pool, block by block
// from a random one on. A pool of a million is thus never read as a whole
// unless nearly all of it is taken.
type round struct {
	begun   bool
	cursor  int64 // a worker number of the next block
	covered int64 // how many of the pool's workers have been read
	census  ExhaustedError
	next    time.Duration // until the first worker id seen comes free
}

// probe looks at one more worker id: the pinned one, a random one for a few times, or a
// free one of a list.
func (s *search) probe(x *step) verdict {
	x.enter(Probing)
	switch {
	case x.Worker != nil:
		s.examine(x, *x.Worker)
	case len(s.candidates) > 0:
		worker := s.candidates[0]
		s.candidates = s.candidates[1:]
		s.examine(x, worker)
	case int64(s.tries) < min(luck, s.pool.size):
		s.tries++
		s.examine(x, s.anyone(x))
	case !s.round.begun:
		s.round = round{begun: true, cursor: s.anyone(x), census: ExhaustedError{Workers: s.pool.size}}
		s.listBlock(x)
	case s.round.covered < s.pool.size:
		s.listBlock(x)
	default:
		return s.exhausted(x)
	}
	return verdict{}
}

// anyone picks a worker of the pool.
func (s *search) anyone(x *step) int64 { return s.pool.at(x.choice().Int64N(s.pool.size)) }

func (s *search) examine(x *step, worker int64) {
	s.worker = worker
	x.getRegister(worker)
}

func (s *search) listBlock(x *step) {
	s.worker = noWorker
	x.call(Call{Verb: List, Key: s.pool.block(s.round.cursor).prefix})
}

// probed takes the answers while probing.
func (s *search) probed(x *step, e Reply) verdict {
	switch {
	case e.Outcome == Absent || e.Outcome == Found:
		x.failures = 0
		return s.considered(x, s.look(x, s.worker, e.Entry))
	case e.Outcome == Listed:
		x.failures = 0
		return s.listed(x, e.Entries)
	case !damaged(e.Err) || x.Worker != nil:
		return s.retry(x, fmt.Errorf("read registers: %w", e.Err))
	case s.late(x):
		return verdict{what: gaveUp, err: fmt.Errorf("read registers: %w", e.Err)}
	}
	x.failures = 0
	if s.worker != noWorker {
		return s.skip(x, e.Err)
	}
	// The list ended at a register that can't be read: each is looked at.
	x.note(fmt.Errorf("list registers: %w", e.Err), "they are read one by one")
	block := s.nextBlock()
	x.choice().Shuffle(len(block), func(i, j int) { block[i], block[j] = block[j], block[i] })
	s.candidates = block
	return s.probe(x)
}

// nextBlock moves the round on by a block, and returns the pool's workers in it.
func (s *search) nextBlock() []int64 {
	b := s.pool.block(s.round.cursor)
	workers := s.pool.workers(b)
	s.round.covered += int64(len(workers))
	s.round.cursor = b.next
	return workers
}

// skip goes on past the worker being looked at, whose register can't be read.
func (s *search) skip(x *step, err error) verdict {
	x.note(fmt.Errorf("read the register of worker %d: %w", s.worker, err), "another worker id is looked for")
	if s.round.begun {
		s.round.census.Unusable++
		s.round.census.Damage = err
	}
	return s.probe(x)
}

// considered chooses the worker id if it may be claimed, and goes on otherwise.
func (s *search) considered(x *step, l look) verdict {
	s.see(x, l)
	if s.seen.version != l.version {
		s.seen = firstRead{l.version, x.now.Monotonic}
	}
	if x.Worker != nil {
		if err := s.refused(); err != nil {
			return verdict{what: gaveUp, err: err}
		}
	}
	switch {
	case l.standing == stored.Free && s.mayIssue(x, l):
		return s.await(x, l)
	case l.standing == stored.Free:
		s.claimed = true
		return verdict{what: chosen, look: l}
	case x.Worker != nil:
		return s.await(x, l)
	case s.round.begun:
		s.count(x, l)
	}
	return s.probe(x)
}

// mayIssue reports whether the register's holder may issue ids still, though its ticks are over by this
// clock, or an operator has taken the worker id from it. It matters for the order of ids alone, and so
// in a strict namespace. A holder that has stopped leaves no window.
func (s *search) mayIssue(x *step, l look) bool {
	return x.strict() && x.now.Monotonic < s.seen.at+rested(l.register.Window)
}

// await waits for the pinned worker id, if waiting can help.
func (s *search) await(x *step, l look) verdict {
	left := s.deadline - x.now.Monotonic
	held := &HeldError{Occupant: occupant(x, l), Reason: l.err}
	before, seen := s.pinned, l.sight(x)
	s.pinned = seen
	switch l.standing {
	case stored.Free: // by its ticks, and its holder may issue still
		if left > 0 {
			return s.wait(x, min(s.seen.at+rested(l.register.Window)-x.now.Monotonic, left, x.poll()), held)
		}
	case stored.Held:
		// This holder is without a term, so the register is another one's. A holder of this
		// program may have left it behind, and then its ticks end.
		twin := !s.claimed && l.register.Process.Same(x.Process)
		if twin {
			held.Reason = ErrPinnedTwice
		}
		behind := l.register.Clock.Sub(x.now.Wall)
		switch {
		case twin && before.version != "" && seen.follows(before): // that one lives
		case behind > x.ClaimWait+x.MaxRollback:
			// Its holder wrote at a time that this clock will not reach within the
			// claim-wait.
			return verdict{what: gaveUp, err: &ClockError{Offset: -behind, Reference: fmt.Sprintf("the last write of worker %d, by %s", l.worker, l.register.Process)}}
		case left > 0:
			return s.wait(x, min(l.wait, left, x.poll()), held) // it may be released at any moment
		}
	case stored.Ahead:
		if l.wait > left {
			return verdict{what: gaveUp, err: &ClockError{Offset: -l.wait - x.MaxRollback, Reference: fmt.Sprintf("the ticks of worker %d, whose last write was by %s", l.worker, l.register.Process), Ticks: true}}
		}
		return s.wait(x, min(l.wait, x.poll()), held)
	}
	return verdict{what: gaveUp, err: held}
}

// listed picks candidates from a block that was read, counts the others, and
// moves on to the next block.
func (s *search) listed(x *step, entries []store.Entry) verdict {
	free := s.nextBlock()
	taken := make(map[int64]bool, len(entries))
	for _, l := range s.seeAll(x, entries) {
		if l.standing == stored.Free {
			continue
		}
		taken[l.worker] = true
		if _, ok := slices.BinarySearch(free, l.worker); ok {
			s.count(x, l)
		}
	}
	if err := s.refused(); err != nil {
		return verdict{what: gaveUp, err: err}
	}
	free = slices.DeleteFunc(free, func(w int64) bool { return taken[w] })
	choice := x.choice()
	s.candidates = nil
	for range min(luck, len(free)) {
		i := choice.IntN(len(free))
		s.candidates = append(s.candidates, free[i])
		free = slices.Delete(free, i, i+1)
	}
	return s.probe(x)
}

// count adds a worker id that is not free to the round's census.
func (s *search) count(x *step, l look) {
	c := &s.round.census
	switch l.standing {
	case stored.Held:
		c.Held++
	case stored.Ahead:
		c.Ahead++
	case stored.Quarantined:
		c.Quarantined++
		return
	default:
		c.Unusable++
		return
	}
	if s.round.next == 0 || l.wait < s.round.next {
		s.round.next = max(l.wait, 1)
	}
	first := append(slices.Clone(c.First), occupant(x, l))
	slices.SortStableFunc(first, func(a, b stored.Occupant) int { return a.Until.Compare(b.Until) })
	c.First = first[:min(len(first), occupantsShown)]
}

// exhausted waits for a free worker id. It ends the attempt when the claim-wait is over, or
// when waiting is in vain.
func (s *search) exhausted(x *step) verdict {
	census, wait := s.round.census, x.about(x.rest(s.rounds))
	if s.late(x) || census.Quarantined+census.Unusable >= census.Workers {
		return verdict{what: gaveUp, err: &census}
	}
	if s.round.next > 0 {
		wait = min(wait, s.round.next)
	}
	s.round = round{}
	s.rounds++
	return s.wait(x, wait, &census)
}

// look is a register as it was read, and its standing.
type look struct {
	worker   int64
	version  store.Version // zero when there is no register yet
	register stored.Register
	standing stored.Standing
	err      error         // why it is Unreadable
	wait     time.Duration // until it is Free by this clock, without another extension
}

// look judges a register as it was read.
func (s *search) look(x *step, worker int64, e store.Entry) look {
	l := look{worker: worker, version: e.Version, standing: stored.Free}
	if e.Version == "" {
		return l
	}
	if l.register, l.err = stored.DecodeRegister(e.Value); l.err != nil {
		l.standing = stored.Unreadable
		return l
	}
	l.standing = s.record.Judge(l.register, x.Layout, x.now.Wall, x.MaxRollback)
	if l.standing == stored.Free && x.Lent != nil {
		l.standing = s.record.Judge(l.register, x.Layout, x.now.Wall.Add(s.ahead), x.MaxRollback)
	}
	l.wait = x.Layout.TimeOf(l.register.Until).Sub(x.now.Wall)
	if l.standing == stored.Ahead {
		l.wait -= x.MaxRollback
	}
	return l
}

func occupant(x *step, l look) stored.Occupant {
	return stored.Occupant{Worker: l.worker, Standing: l.standing, Until: x.Layout.TimeOf(l.register.Until), Process: l.register.Process}
}
