package lease

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"snowfence.example/snowfence/store"
)

// attempt is one try to get a worker id, from the judgement of the clock to
// the claim. It ends when the claim-wait does.
type attempt struct {
	deadline time.Duration // on the monotonic clock
	stepped  bool          // it follows a forward step: judge the clock with care
	asked    bool          // of a resumption: the register was read, and the engine's time is asked for
	waiting  bool          // it was told that it waits for a worker id

	watched   *block     // the registers that are watched for a reference
	first     string     // the prefix of the block that was looked at first
	blocks    int        // how many were looked at
	watching  bool       // they were read, somebody seemed to be alive, and the time to watch was taken
	sightings []sighting // registers read in this attempt
	agree     int        // how many of those that changed under its eyes have a clock like this one
	disagree  int
	offset    time.Duration // of the one that disagreed the most

	worker     int64         // the one being examined
	pinned     store.Version // of the pinned one's register when it was read last
	listing    bool          // a block is being listed instead
	tries      int           // worker ids picked at random
	candidates []int64       // worker ids that a list showed as free
	round      round         // one reading through of all registers
	rounds     int           // readings through that found none free
}

// sighting is when a register was at which version.
type sighting struct {
	worker  int64
	version store.Version
	at      time.Duration
}

// maxSightings bounds what an attempt remembers of a large pool. It is a whole
// block, so that of those that are watched none is forgotten: the living may
// come last, behind any number of registers that nobody writes any more.
const maxSightings = blockSize

// maxBlocks is how many blocks are looked at for somebody to compare the clock
// with: all that 16 bits of worker id have.
const maxBlocks = 66

// newAttempt forgets the last attempt and begins the claim-wait anew.
func (r *run) newAttempt(stepped bool) {
	r.attempt = attempt{stepped: stepped, deadline: r.now.Monotonic + r.config.ClaimWait}
	r.failures = 0
}

// late reports whether the claim-wait is over.
func (r *run) late() bool { return r.now.Monotonic >= r.attempt.deadline }

// steppedForward reports whether the wall clock ran ahead of the monotonic one
// by more than the tolerance since the last step. A machine that was suspended
// looks the same, and is treated the same.
func (r *run) steppedForward() bool {
	return r.now.Wall.Sub(r.last.Wall)-(r.now.Monotonic-r.last.Monotonic) > clockTolerance
}

// judge compares the clock with the engine's, or, after a forward step, with
// the clocks that others write. A holder extends its register at a third of
// its window, so whoever is alive shows in that time. An ordinary claim is not
// kept waiting for that: it is judged by what it happens to see.
func (r *run) judge() {
	if err := r.past(); err != nil {
		r.giveUp(err)
		return
	}
	if r.config.EngineClock {
		r.enter(Judging)
		r.ask(func(id uint64) Request { return Ask{ID: id} })
		return
	}
	if !r.attempt.stepped {
		r.probe()
		return
	}
	r.enter(Judging)
	if r.attempt.watched == nil {
		b := r.pool.block(r.pool.at(r.choice().Int64N(r.pool.size)))
		r.attempt.watched, r.attempt.first, r.attempt.blocks = &b, b.prefix, 1
		r.attempt.deadline += r.config.watch()
	}
	r.ask(func(id uint64) Request { return List{ID: id, Prefix: r.attempt.watched.prefix} })
}

// judged takes the answers while judging.
func (r *run) judged(e Reply) {
	if damaged(e.Err) && r.attempt.watched != nil {
		// One register that can't be read keeps nobody from looking at the others.
		r.note(fmt.Errorf("judge the clock: %w", e.Err), "the registers before it are looked at")
		e.Outcome = Listed
	}
	switch e.Outcome {
	case Told:
		if offset := r.now.Wall.Sub(e.Time); offset.Abs() > clockTolerance {
			r.giveUp(&ClockError{Offset: offset, Reference: "the store's clock"})
			return
		}
	case Listed:
		living := false
		for _, entry := range e.Entries {
			if w, ok := WorkerOf(r.config.Namespace, r.config.Layout, entry.Key); ok {
				l := r.look(w, entry)
				living = living || l.register.Holder != "" && !l.register.Process.same(r.config.Process)
				r.see(l)
			}
		}
		// They are watched once. Who seemed alive and wrote nothing meanwhile is
		// not, or is none of this namespace's.
		if living && !r.attempt.watching {
			r.attempt.watching = true
			r.wakeAt(r.now.Monotonic + r.config.watch())
			return
		}
		if !living && r.nextBlock() {
			return
		}
		if r.clockRefused() {
			return
		}
		if r.attempt.agree == 0 {
			r.report(Noted, errors.New("the clock stepped, and no other holder was found to compare it with: it is accepted as it is"))
		}
	default:
		r.retry(fmt.Errorf("judge the clock: %w", e.Err))
		return
	}
	r.attempt.stepped = false
	r.failures = 0
	r.probe()
}

// nextBlock looks for somebody who is alive in the next block, and reports false
// if there is none to look at.
func (r *run) nextBlock() bool {
	a := &r.attempt
	b := r.pool.block(a.watched.next)
	if a.watching || b.prefix == a.first || a.blocks == maxBlocks {
		return false
	}
	a.watched, a.sightings, r.copied = &b, nil, true
	a.blocks++
	r.ask(func(id uint64) Request { return List{ID: id, Prefix: b.prefix} })
	return true
}

// see remembers a register, and compares clocks when it changed since it was
// last seen, not long ago: then it was written in between, and its clock field
// shows what time its writer had. What this program wrote itself says nothing.
func (r *run) see(l look) {
	if l.version == "" || l.standing == Unreadable || l.standing == Foreign || l.register.Process.same(r.config.Process) {
		return
	}
	if !r.copied {
		r.attempt.sightings, r.copied = slices.Clone(r.attempt.sightings), true
	}
	seen := sighting{worker: l.worker, version: l.version, at: r.now.Monotonic}
	i := slices.IndexFunc(r.attempt.sightings, func(s sighting) bool { return s.worker == l.worker })
	if i < 0 {
		if len(r.attempt.sightings) < maxSightings {
			r.attempt.sightings = append(r.attempt.sightings, seen)
		}
		return
	}
	before := r.attempt.sightings[i]
	r.attempt.sightings[i] = seen
	age := seen.at - before.at
	if before.version == seen.version || age > 2*r.config.watch() {
		return
	}
	// The writer's clock was read up to age ago, so this one may be that much
	// further without being off.
	offset := r.now.Wall.Sub(l.register.Clock)
	if offset <= clockTolerance+age && offset >= -clockTolerance {
		r.attempt.agree++
		return
	}
	r.attempt.disagree++
	if offset.Abs() > r.attempt.offset.Abs() {
		r.attempt.offset = offset
	}
}

// clockRefused ends the attempt if more clocks disagree with this one than
// agree: so one bad clock among many neither passes nor shuts the others out.
func (r *run) clockRefused() bool {
	if r.attempt.disagree <= r.attempt.agree {
		return false
	}
	r.giveUp(&ClockError{
		Offset:    r.attempt.offset,
		Reference: fmt.Sprintf("the clocks of %d of the %d other holders seen", r.attempt.disagree, r.attempt.disagree+r.attempt.agree),
	})
	return true
}

// retry tries again after a pause what failed, until the claim-wait is over;
// what is damaged is not tried again.
func (r *run) retry(err error) {
	if r.late() || damaged(err) {
		r.giveUp(err)
		return
	}
	r.note(err, "trying again")
	r.backOff()
}

// damaged reports whether an error of the store is one that no retry mends.
func damaged(err error) bool { return errors.Is(err, store.ErrDamaged) }

// giveUp ends the attempt. Another one follows after a pause, which the owner
// of the state may not wait for.
func (r *run) giveUp(err error) {
	if r.releasing {
		r.stop() // a release that can't be written down is no reason to claim again
		return
	}
	r.revoke(err)
	r.outage.trouble = err
	r.report(GaveUp, err)
	r.enter(Resting)
	r.wakeAt(r.now.Monotonic + r.config.poll())
}

// fail ends everything: what is wrong stays wrong until somebody mends it.
func (r *run) fail(err error) {
	r.revoke(err)
	r.outage.trouble = err
	r.enter(Failed)
	r.report(Broken, err)
}

// clockLost ends the term, unless it is pinned and the clock fell behind: then
// its generator refuses until the clock is back, and no other worker id would
// do. A forward step also begins a claim that is under way anew, because the
// clock was judged before it, or would be judged without the care that is due.
func (r *run) clockLost(e ClockLost) {
	switch r.phase {
	case Holding, Confirming, Verifying, Resuming, Recording:
		switch {
		case e.Stepped:
			r.endTerm(fmt.Errorf("the clock stepped forward by more than %s", clockTolerance), true)
		case r.config.Worker == nil:
			r.endTerm(fmt.Errorf("the clock is behind by more than %s", r.config.MaxRollback), false)
		default:
			r.report(Noted, fmt.Errorf("the clock is behind by more than %s: nothing is issued until it is back", r.config.MaxRollback))
		}
	case Opening, Judging, Probing, Claiming, Resting:
		if e.Stepped {
			r.write, r.attempt.stepped = nil, true
			r.open()
		}
	default:
	}
}
