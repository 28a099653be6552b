package lease

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// judgement is an attempt's knowledge of this clock.
type judgement struct {
	watched   *block     // the registers that are watched for another clock
	first     string     // the prefix of the first block
	blocks    int        // how many were looked at
	watching  bool       // it has a holder that may be alive, and gets the time to write
	sightings []sighting // registers read in this attempt; never written to in place
	agree     int        // how many of the changed ones have a clock like this one
	disagree  int
	offset    time.Duration // of the one that disagreed the most
}

// sighting is a register's last write as it was seen, and when.
type sighting struct {
	worker  int64
	version store.Version
	term    int64
	clock   time.Time // its writer's
	at      time.Duration
}

// sight returns the sighting of a register that is looked at now.
func (l look) sight(x *step) sighting {
	return sighting{worker: l.worker, version: l.version, term: l.register.Term, clock: l.register.Clock, at: x.now.Monotonic}
}

// follows reports whether the register was written between two sightings. A store that failed over may
// show an older write again, under another version than the last one seen. That write proves nothing about now.
func (s sighting) follows(before sighting) bool {
	later := s.term > before.term || s.term == before.term && s.clock.After(before.clock)
	return later && s.version != before.version
}

// maxSightings bounds the memory of an attempt in a large pool. It is a whole block, so no
// watched register is forgotten: the living holders may come last, behind any number of
// dead ones.
const maxSightings = 1000

// maxBlocks is how many blocks are searched for another clock: all blocks of 16 bits of
// worker id.
const maxBlocks = 66

// judge compares the clock with the engine's, or, after a forward step, with the clocks of
// other holders. A living holder extends its register at a third of its window, so it
// shows in that time. An ordinary claim does not wait for that. It compares its clock with
// the holders that it happens to see.
func (s *search) judge(x *step) verdict {
	if err := x.outside(); err != nil {
		return verdict{what: gaveUp, err: err}
	}
	switch {
	case x.EngineClock:
		x.enter(Judging)
		x.call(Call{Verb: Ask})
		return verdict{}
	case !s.stepped:
		return s.probe(x)
	}
	x.enter(Judging)
	if s.watched == nil {
		s.watch(s.pool.block(s.pool.at(x.choice().Int64N(s.pool.size))))
		s.first = s.watched.prefix
		s.deadline += x.watch()
	}
	s.listWatched(x)
	return verdict{}
}

// watch turns to a block of registers.
func (s *search) watch(b block) {
	s.watched, s.sightings = &b, nil
	s.blocks++
}

func (s *search) listWatched(x *step) { x.call(Call{Verb: List, Key: s.watched.prefix}) }

// judged takes the answers while judging.
func (s *search) judged(x *step, e Reply) verdict {
	if damaged(e.Err) && s.watched != nil {
		// The others can be judged without the one that can't be read.
		x.note(fmt.Errorf("judge the clock: %w", e.Err), "the registers before it are looked at")
		e.Outcome = Listed
	}
	switch e.Outcome {
	case Told:
		if err := x.compare(e.Time); err != nil {
			return verdict{what: gaveUp, err: err}
		}
		s.ahead = e.Time.Sub(x.now.Wall)
	case Listed:
		living := slices.ContainsFunc(s.seeAll(x, e.Entries), func(l look) bool {
			return l.register.Holder != "" && !l.register.Process.Same(x.Process)
		})
		// They are watched once. A holder that wrote nothing meanwhile is dead, or
		// not of this namespace.
		if living && !s.watching {
			s.watching = true
			x.wakeIn(x.watch())
			return verdict{}
		}
		if !living && s.watchNext(x) {
			return verdict{}
		}
		if err := s.refused(); err != nil {
			return verdict{what: gaveUp, err: err}
		}
		if s.agree == 0 {
			x.report(Noted, errors.New("the clock stepped, and no other holder was found to compare it with: it is accepted as it is"))
		}
	default:
		return s.retry(x, fmt.Errorf("judge the clock: %w", e.Err))
	}
	s.stepped = false
	x.failures = 0
	return s.probe(x)
}

// compare returns a *[ClockError] if this clock is too far from the store's.
func (x *step) compare(stores time.Time) error {
	if offset := x.now.Wall.Sub(stores); offset.Abs() > stored.ClockTolerance {
		return &ClockError{Offset: offset, Reference: "the store's clock"}
	}
	return nil
}

// seeAll sees the registers of a list.
func (s *search) seeAll(x *step, entries []store.Entry) []look {
	var looks []look
	for _, entry := range entries {
		if w, ok := stored.WorkerOf(x.Namespace, x.Layout, entry.Key); ok {
			l := s.look(x, w, entry)
			s.see(x, l)
			looks = append(looks, l)
		}
	}
	return looks
}

// watchNext looks for a living holder in the next block. It reports false if this is the only block.
func (s *search) watchNext(x *step) bool {
	b := s.pool.block(s.watched.next)
	if s.watching || b.prefix == s.first || s.blocks == maxBlocks {
		return false
	}
	s.watch(b)
	s.listWatched(x)
	return true
}

// see remembers a register. If the register was written since it was last seen, not long
// ago, see compares clocks: its clock field shows the writer's time. A register of this
// program itself proves nothing.
func (s *search) see(x *step, l look) {
	if l.version == "" || l.standing == stored.Unreadable || l.standing == stored.Foreign || l.register.Process.Same(x.Process) {
		return
	}
	if !x.copied {
		s.sightings, x.copied = slices.Clone(s.sightings), true
	}
	seen := l.sight(x)
	i := slices.IndexFunc(s.sightings, func(known sighting) bool { return known.worker == l.worker })
	if i < 0 {
		if len(s.sightings) < maxSightings {
			s.sightings = append(s.sightings, seen)
		}
		return
	}
	before := s.sightings[i]
	s.sightings[i] = seen
	age := seen.at - before.at
	if !seen.follows(before) || age > 2*x.watch() {
		return
	}
	// The writer's clock was read up to age ago. So this one may be ahead by that much
	// without being off.
	offset := x.now.Wall.Sub(l.register.Clock)
	if offset <= stored.ClockTolerance+age && offset >= -stored.ClockTolerance {
		s.agree++
		return
	}
	s.disagree++
	if offset.Abs() > s.offset.Abs() {
		s.offset = offset
	}
}

// refused returns a *[ClockError] if more clocks disagree with this one than agree:
// so one bad clock among many neither passes nor shuts the others out.
func (s *search) refused() error {
	if s.disagree <= s.agree {
		return nil
	}
	return &ClockError{
		Offset:    s.offset,
		Reference: fmt.Sprintf("the clocks of %d of the %d other holders seen", s.disagree, s.disagree+s.agree),
	}
}
