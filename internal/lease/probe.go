package lease

import (
	"fmt"
	"slices"
	"time"

	"snowfence.example/snowfence/store"
)

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

// probe looks at one more worker id: the pinned one; or one picked at random,
// a few times; or one that a list showed as free.
func (r *run) probe() {
	a := &r.attempt
	r.enter(Probing)
	switch {
	case r.config.Worker != nil:
		r.examine(*r.config.Worker)
	case len(a.candidates) > 0:
		worker := a.candidates[0]
		a.candidates = a.candidates[1:]
		r.examine(worker)
	case int64(a.tries) < min(luck, r.pool.size):
		a.tries++
		r.examine(r.pool.at(r.choice().Int64N(r.pool.size)))
	case !a.round.begun:
		a.round = round{begun: true, cursor: r.pool.at(r.choice().Int64N(r.pool.size)), census: ExhaustedError{Workers: r.pool.size}}
		r.listBlock()
	case a.round.covered < r.pool.size:
		r.listBlock()
	default:
		r.exhausted()
	}
}

// examine reads the register of a worker; see probed.
func (r *run) examine(worker int64) {
	r.attempt.worker, r.attempt.listing = worker, false
	r.get(RegisterKey(r.config.Namespace, r.config.Layout, worker))
}

func (r *run) listBlock() {
	r.attempt.listing = true
	prefix := r.pool.block(r.attempt.round.cursor).prefix
	r.ask(func(id uint64) Request { return List{ID: id, Prefix: prefix} })
}

// probed takes the answers while probing.
func (r *run) probed(e Reply) {
	switch e.Outcome {
	case Absent, Found:
		r.failures = 0
		r.considered(r.look(r.attempt.worker, e.Entry))
	case Listed:
		r.failures = 0
		r.listed(e.Entries)
	default:
		if damaged(e.Err) && r.config.Worker == nil {
			r.unread(e.Err)
			return
		}
		r.retry(fmt.Errorf("read registers: %w", e.Err))
	}
}

// unread goes on where registers of a pool can't be read: past one of them, or,
// when it was a list that ended at it, by looking at each of the block.
func (r *run) unread(err error) {
	a := &r.attempt
	if r.late() {
		r.giveUp(fmt.Errorf("read registers: %w", err))
		return
	}
	r.failures = 0
	if !a.listing {
		r.skip(err)
		r.probe()
		return
	}
	r.note(fmt.Errorf("list registers: %w", err), "they are read one by one")
	b := r.pool.block(a.round.cursor)
	a.candidates = r.pool.workers(b)
	r.choice().Shuffle(len(a.candidates), func(i, j int) {
		a.candidates[i], a.candidates[j] = a.candidates[j], a.candidates[i]
	})
	a.round.covered += int64(len(a.candidates))
	a.round.cursor = b.next
	r.probe()
}

// skip notes that the register of the worker being examined can't be read.
func (r *run) skip(err error) {
	a := &r.attempt
	r.note(fmt.Errorf("read the register of worker %d: %w", a.worker, err), "another worker id is looked for")
	if a.round.begun {
		a.round.census.Unusable++
		a.round.census.Damage = err
	}
}

// considered claims the worker id if it may, and goes on otherwise.
func (r *run) considered(l look) {
	r.see(l)
	switch {
	case r.config.Worker != nil && r.clockRefused():
	case l.standing == Free:
		r.claim(l)
	case r.config.Worker != nil:
		r.await(l)
	default:
		if r.attempt.round.begun {
			r.count(l)
		}
		r.probe()
	}
}

// await waits for the pinned worker id, if waiting can help.
func (r *run) await(l look) {
	left := r.attempt.deadline - r.now.Monotonic
	behind := l.register.Clock.Sub(r.now.Wall)
	held := &HeldError{Occupant: r.occupant(l), Reason: l.err}
	changed := r.attempt.pinned != "" && r.attempt.pinned != l.version
	r.attempt.pinned = l.version
	switch l.standing {
	case Held:
		// It is not this holder's own, which has claimed nothing yet. But another
		// one of this program may have left it behind, and then its ticks end.
		twin := !r.claimed && l.register.Process.same(r.config.Process)
		if twin {
			held.Reason = ErrPinnedTwice
		}
		switch {
		case twin && changed: // that one lives
			r.giveUp(held)
		case behind > r.config.ClaimWait+r.config.MaxRollback:
			// Its holder wrote at a time that this clock will not reach while it
			// may wait.
			r.giveUp(&ClockError{Offset: -behind, Reference: fmt.Sprintf("the last write of worker %d, by %s", l.worker, l.register.Process)})
		case left <= 0:
			r.giveUp(held)
		default:
			// It may be released at any moment.
			r.tellWaiting(held)
			r.wakeAt(r.now.Monotonic + max(time.Millisecond, min(l.wait, left, r.config.poll())))
		}
	case Ahead:
		if l.wait > left {
			r.giveUp(&ClockError{Offset: -l.wait - r.config.MaxRollback, Reference: fmt.Sprintf("the ticks that worker %d has used, under %s", l.worker, l.register.Process)})
			return
		}
		r.tellWaiting(held)
		r.wakeAt(r.now.Monotonic + max(time.Millisecond, min(l.wait, r.config.poll())))
	default:
		r.giveUp(held)
	}
}

// listed picks candidates from a block that was read, counts the others, and
// moves on to the next block.
func (r *run) listed(entries []store.Entry) {
	a := &r.attempt
	b := r.pool.block(a.round.cursor)
	free := r.pool.workers(b)
	a.round.covered += int64(len(free))
	a.round.cursor = b.next
	taken := make(map[int64]bool, len(entries))
	for _, e := range entries {
		w, ok := WorkerOf(r.config.Namespace, r.config.Layout, e.Key)
		if !ok {
			continue
		}
		l := r.look(w, e)
		r.see(l)
		if l.standing != Free {
			taken[w] = true
			if _, ok := slices.BinarySearch(free, w); ok {
				r.count(l)
			}
		}
	}
	if r.clockRefused() {
		return
	}
	free = slices.DeleteFunc(free, func(w int64) bool { return taken[w] })
	choice := r.choice()
	a.candidates = nil
	for range min(luck, len(free)) {
		i := choice.IntN(len(free))
		a.candidates = append(a.candidates, free[i])
		free = slices.Delete(free, i, i+1)
	}
	r.probe()
}

// count adds a worker id that is not free to the round's census.
func (r *run) count(l look) {
	c := &r.attempt.round.census
	switch l.standing {
	case Held:
		c.Held++
	case Ahead:
		c.Ahead++
	case Quarantined:
		c.Quarantined++
	default:
		c.Unusable++
	}
	if l.standing != Held && l.standing != Ahead {
		return
	}
	if r.attempt.round.next == 0 || l.wait < r.attempt.round.next {
		r.attempt.round.next = max(l.wait, 1)
	}
	first := append(slices.Clone(c.First), r.occupant(l))
	slices.SortStableFunc(first, func(a, b Occupant) int { return a.Until.Compare(b.Until) })
	c.First = first[:min(len(first), occupantsShown)]
}

// exhausted waits for a worker id to come free, or ends the attempt when the
// claim-wait is over, or when waiting for one is in vain.
func (r *run) exhausted() {
	a := &r.attempt
	census := a.round.census
	if r.late() || census.Quarantined+census.Unusable >= census.Workers {
		r.giveUp(&census)
		return
	}
	r.tellWaiting(&census)
	wait := r.config.rest(a.rounds)
	wait = wait/2 + time.Duration(r.choice().Int64N(int64(wait)+1))
	if a.round.next > 0 {
		wait = min(wait, a.round.next)
	}
	a.round = round{}
	a.rounds++
	r.wakeAt(r.now.Monotonic + max(wait, time.Millisecond))
}
