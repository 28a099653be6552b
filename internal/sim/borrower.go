package sim

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/lend"
	"snowfence.example/snowfence/internal/sim/trace"
)

// borrower is a program without a fence: it borrows a worker id of the daemons, and mints by [lend.Held]. It gets the time
// and its end as every [Allocator] does. Its questions and the answers to them go by lending.go.
type borrower struct {
	site  Site
	held  *lend.Held // nil without a lease
	owner int        // the process that claimed it
	by    *issuer    // under which the lease's ids are issued; nil when it issues nothing more

	inbox   []answer
	asked   *question     // the one without an answer; nil if all are answered
	tries   int           // counts the sendings of all questions
	sent    time.Duration // when the last one was
	due     time.Duration // when the question is given up or sent again, or when the next one is asked
	leaving bool
}

// borrows starts a borrower as a process.
func borrows(s Site) (Allocator, error) { return &borrower{site: s}, nil }

// pid is the number of the process, unique in the run.
func (b *borrower) pid() int { return b.site.node.index*1_000_000 + b.site.Process }

// fork copies the process into a child, with its knowledge of the lease.
func (b *borrower) fork(s Site) Allocator {
	child := *b
	child.site, child.inbox = s, nil
	if b.held != nil {
		held := *b.held
		child.held = &held
	}
	return &child
}

// own forgets a lease that another process claimed: a forked child claims its own.
func (b *borrower) own() {
	if b.owner != b.pid() {
		b.drop(0)
		b.owner = b.pid()
	}
}

// drop forgets the lease, and lets the next claim wait.
func (b *borrower) drop(rest time.Duration) {
	b.held, b.by, b.asked = nil, nil, nil
	b.due = b.site.Clock.Monotonic() + rest
}

// soon draws a short time.
func (b *borrower) soon() time.Duration { return upTo(b.site.Rand, 4*b.site.Plan.beat()) }

// Wake implements [Allocator].
func (b *borrower) Wake() (time.Duration, bool) {
	return b.due, true
}

// Step implements [Allocator].
func (b *borrower) Step(e lease.Event, now lease.Moment) []lease.Request {
	b.own()
	for _, a := range b.inbox {
		b.hear(a)
	}
	b.inbox = nil
	if _, ends := e.(lease.ReleaseAsked); ends {
		b.leaving = true
	}
	switch {
	case b.held != nil && (b.asked == nil || b.asked.verb != releasing) && (b.leaving || b.behind()):
		b.release(now) // whatever becomes of an extension
	case b.leaving && b.asked == nil && b.held == nil:
		return []lease.Request{lease.Report{What: lease.Ended}}
	case now.Monotonic < b.due:
	case b.asked != nil:
		b.again()
	case b.held == nil:
		b.ask(question{verb: claiming})
	default:
		b.ask(question{verb: extending, Release: lend.Release{Lease: b.held.Answer().Lease, Mark: mark(now)}})
	}
	return nil
}

// mark makes the mark of a question.
func mark(now lease.Moment) string { return hex.EncodeToString(now.Random[:8]) }

// behind reports whether the wall clock is too far behind the last tick.
func (b *borrower) behind() bool {
	if b.held == nil {
		return false
	}
	a := b.held.Answer()
	most := max(a.MaxBehind, b.site.Plan.beat())
	return a.Layout.TickAt(b.site.Clock.Wall().Add(most)) < b.held.Next()-1
}

// release gives the worker id back. The lease issues nothing from here on.
func (b *borrower) release(now lease.Moment) {
	r := lend.Release{Lease: b.held.Answer().Lease, Mark: mark(now)}
	if b.asked != nil {
		r.Open = b.asked.Mark
	}
	if next := b.held.Next(); chance(b.site.Rand, 85) {
		r.Next = &next
	}
	b.by = nil
	b.ask(question{verb: releasing, Release: r})
}

// ask begins a question.
func (b *borrower) ask(q question) { b.asked = &q; b.send() }

// send sends the question, to any of the daemons.
func (b *borrower) send() {
	n, q := b.site.node, b.asked
	b.tries++
	q.tries++
	q.from, q.process, q.try, q.patience = n, b.site.Process, b.tries, time.Duration(1+b.site.Rand.IntN(2))*b.site.Plan.timeout()
	if q.verb == claiming {
		q.patience = 4 * b.site.Plan.timeout()
	}
	q.Now, q.Host, q.PID = b.site.Clock.Wall(), b.site.Host, b.pid()
	b.sent = b.site.Clock.Monotonic()
	b.due = b.sent + q.patience
	if q.verb == extending {
		b.held.Ask(b.sent)
	}
	n.borrow(*q)
}

// again sends a question again whose answer is late, or gives it up. A claim is always given up: the
// next one is new.
func (b *borrower) again() {
	switch q := b.asked; {
	case q.verb == claiming, q.verb == releasing && q.tries == 3:
		b.drop(b.soon())
	case q.verb == extending && b.over():
		b.site.world.tally.Counts[Gone]++
		b.drop(0)
	default:
		b.send()
	}
}

// over reports whether the last bound has been over for a window.
func (b *borrower) over() bool {
	a := b.held.Answer()
	return a.Layout.TickAt(b.site.Clock.Wall().Add(-a.Window)) > a.Lease.Until
}

// hear takes an answer. A refusal of an earlier try counts for nothing, and neither does the answer to
// an earlier claim: each claim is of another lease.
func (b *borrower) hear(a answer) {
	q := b.asked
	if q == nil || a.err != nil && a.try != q.try {
		return
	}
	switch {
	case errors.Is(a.err, lend.ErrGone):
		if q.verb == extending {
			b.site.world.tally.Counts[Gone]++
		}
		b.drop(0)
	case a.err != nil && q.verb == claiming:
		b.drop(b.soon())
	case a.err != nil:
		b.due = b.site.Clock.Monotonic() + b.soon() // the same again, then
	case a.try == q.try && q.verb == claiming:
		b.hold(a.Answer)
	case a.try == q.try && q.verb == releasing:
		b.site.world.tally.Counts[Returned]++
		b.drop(b.soon())
	case q.verb == extending && a.Mark == q.Mark:
		if b.held.Extended(a.Answer, b.site.Clock.Monotonic()) != nil {
			b.drop(0)
			return
		}
		b.answered()
	}
}

// answered plans the next extension: when it is due, and now and then sooner, as a port in a hurry may do.
func (b *borrower) answered() {
	b.asked, b.due = nil, b.held.Due()
	b.site.node.record(trace.Step{Kind: trace.Use, Until: int64(b.held.Usable())})
	if now := b.site.Clock.Monotonic(); chance(b.site.Rand, 25) {
		b.due = now + upTo(b.site.Rand, b.due-now)
	}
}

// hold begins with a lease.
func (b *borrower) hold(a lend.Answer) {
	w, now := b.site.world, b.site.Clock.Monotonic()
	w.tally.Counts[Leases]++
	b.held = lend.Hold(a, b.sent, now)
	b.answered()
	s := b.site
	s.Layout = a.Layout
	b.by = w.issuerOf(s, fmt.Sprintf("%s, process %d, lease of term %d of worker %d", s.Host, s.Process, a.Lease.Term, a.Lease.Worker))
	b.by.nonce, b.by.worker, b.by.floor = a.Lease.Holder(), a.Lease.Worker, a.Floor
	s.node.server.issuers[b.by.nonce] = b.by
}

// errNoTicks is why a borrower mints nothing.
var errNoTicks = errors.New("no tick may be stamped now")

// Mint implements [Allocator]. Now and then the borrower is stopped between the last comparison of a tick and the return.
func (b *borrower) Mint(_ context.Context, ids []snowfence.ID) (n int, err error) {
	if b.own(); b.by == nil {
		return 0, errNoTerm
	}
	for n < len(ids) {
		tick, sequence, ok := b.held.Stamp(b.site.Clock.Wall())
		if !ok {
			break
		}
		ids[n] = b.by.ledger.join(b.by.worker, tick, sequence)
		n++
	}
	if n == 0 {
		return 0, errNoTicks
	}
	if w := b.site.world; !w.quiet && chance(b.site.Rand, 3) && !b.site.Sleep(upTo(b.site.Rand, 2*w.plan.Window)) {
		return 0, context.Canceled
	}
	b.site.world.tally.Counts[Lent] += int64(n)
	return n, nil
}
