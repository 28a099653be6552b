package sim

import (
	"errors"
	"time"

	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/lend"
	"snowfence.example/snowfence/internal/sim/trace"
	"snowfence.example/snowfence/internal/stored"
)

// verb is the kind of a borrower's request.
type verb uint8

const (
	claiming verb = iota + 1
	extending
	releasing
)

// question is one sending of a borrower's request. A claim uses Borrower alone, an extension all fields
// but Next and Open.
type question struct {
	verb verb
	lend.Release
	from     *node
	process  int // of the sender
	try      int // counts the sendings of that process
	tries    int // counts the sendings of this question
	patience time.Duration
}

// left reports whether the borrower has stopped waiting for the answer to this sending.
func (q *question) left() bool {
	n := q.from
	return !n.alive || n.process != q.process || n.borrower.asked == nil || n.borrower.asked.try != q.try
}

// answer is a daemon's.
type answer struct {
	try int
	lend.Answer
	err error
}

// borrow sends a question to one of the daemons. The network may repeat it: another daemon, or the same
// one, gets a copy, at once or when the borrower has long gone on.
func (n *node) borrow(q question) {
	w := n.w
	asks := [...]string{claiming: "for a worker id", extending: "for an extension", releasing: "to take its worker id back"}
	n.record(trace.Step{Kind: trace.Remark, Note: "asks a daemon " + asks[q.verb]})
	if q.verb == extending {
		n.spring(lease.Call{Verb: lease.Swap})
	}
	n.carry(q, 0)
	if p := w.plan.Weather.Repeated; w.quiet || p == 0 || !chance(n.net, 2*p) {
		return
	}
	late := time.Duration(0)
	if chance(n.net, 60) {
		late = upTo(n.net, 2*w.plan.Window)
	}
	w.latest = max(w.latest, w.agenda.Now()+late)
	w.struck(Repeated, n.index, "a request of %s, whose copy goes %s later", n.host, late)
	n.carry(q, late)
}

// carry takes a question to a daemon, and its answer back. When the faults have ended, a borrower skips
// a daemon that is refused for its layout: a program with several addresses goes on to a daemon that
// answers.
func (n *node) carry(q question, after time.Duration) {
	w := n.w
	var daemons []*node
	for _, d := range w.nodes {
		if d.server == n.server && !d.borrows && (!w.quiet || d.server.fits(d)) && (w.plan.Datacenters == 0 || (d.as-n.as)%w.plan.Datacenters == 0) {
			daemons = append(daemons, d)
		}
	}
	if len(daemons) == 0 {
		return
	}
	d, way := daemons[n.net.IntN(len(daemons))], n.way(uint64(q.try))
	if way.lost {
		return
	}
	if p := w.plan.Weather.Slow; !w.quiet && chance(n.net, min(100, 4*p)) { // it comes when the question was sent again
		way.back = upTo(n.net, w.plan.Window)
	}
	w.agenda.After(after+way.there, func() {
		d.soon(0, func() {
			d.lend(q, func(a answer) {
				if w.trace != nil {
					w.tell("%s answers question %d of %s: until %d, %v", d.host, q.try, n.host, a.Lease.Until, a.err)
				}
				if way.silent || way.damaged { // such as a page of a proxy
					return
				}
				n.soonAs(q.process, way.back, func() {
					a.try = q.try
					n.borrower.inbox = append(n.borrower.inbox, a)
					n.step(lease.Woken{})
				})
			})
		})
	})
}

// errNotReady is the answer of a daemon that can't lend yet.
var errNotReady = errors.New("the namespace's record is not known yet")

// lend answers a question, as the daemon with this machine's holder.
func (n *node) lend(q question, reply func(answer)) {
	if n.holder == nil || n.holder.state.View().Namespace.Incarnation == "" {
		reply(answer{err: errNotReady})
		return
	}
	if n.w.trace != nil {
		n.w.tell("%s takes question %d of %s: %d, lease %d to %d, mark %s", n.host, q.try, q.from.host, q.verb, q.Lease.Worker, q.Lease.Until, q.Mark)
	}
	var claim *lend.Claim
	var x *lend.Exchange
	var err error
	switch terms, wall := n.terms(), n.clock.Wall(); q.verb {
	case claiming:
		claim, err = terms.Claim(q.Borrower, wall)
	case extending:
		x, err = terms.Extend(lend.Extension{Borrower: q.Borrower, Lease: q.Lease, Mark: q.Mark}, wall)
	default:
		x, err = terms.Release(q.Release, wall)
	}
	if err != nil {
		reply(answer{err: err})
		return
	}
	e := errand{daemon: n, ends: n.w.agenda.Now() + 2*q.patience, next: timeless(x)}
	e.done = func(err error) {
		a := answer{err: err}
		if err == nil && q.verb == extending {
			a.Answer = x.Answer()
		}
		reply(a)
	}
	if claim != nil {
		e.next, e.done = claim.Next, func(err error) { n.claimed(claim, q, err, reply) }
	}
	e.step(lease.Reply{})
}

// claimed answers a claim. If the borrower has hung up before the answer is sent, the daemon gives the
// worker id back instead.
func (n *node) claimed(c *lend.Claim, q question, err error, reply func(answer)) {
	if err != nil {
		reply(answer{err: err})
		return
	}
	a := c.Answer()
	if q.left() && chance(n.lends, 80) {
		n.giveBack(a, q)
		return
	}
	reply(answer{Answer: a})
}

// giveBack releases the worker id of a claim whose answer was not sent, as [lend.Lender.Return] does.
func (n *node) giveBack(a lend.Answer, q question) {
	q.verb, q.Release = releasing, lend.Release{Borrower: q.Borrower, Lease: a.Lease, Mark: "0000000000000000", Next: &a.Floor}
	n.lend(q, func(answer) {})
}

// terms returns the terms of a daemon on this machine. The daemon keeps nothing else.
func (n *node) terms() lend.Terms {
	config, known := n.holder.state.Config(), n.holder.state.View().Namespace
	config.Worker = nil // a pinned one is the holder's
	return lend.Terms{
		Config: config, Loss: config.Loss, EngineClock: config.EngineClock, MaxBehind: config.MaxRollback,
		Known: stored.Namespace{Layout: known.Layout, Incarnation: known.Incarnation, Datacenters: known.Datacenters},
	}
}

// errand is a question under way in a daemon, a step at a time. It ends with the daemon, between any two calls to the store.
type errand struct {
	daemon       *node
	next         func(lease.Reply, lease.Moment) lend.Step
	done         func(error)
	ends         time.Duration
	calls, heard int
}

// timeless is the step of an exchange, which goes by the store's answers alone.
func timeless(x *lend.Exchange) func(lease.Reply, lease.Moment) lend.Step {
	return func(r lease.Reply, _ lease.Moment) lend.Step { return x.Next(r) }
}

// errLate ends an errand whose time is over.
var errLate = errors.New("the daemon's time is over")

// step takes an answer of the store, and goes on.
func (e *errand) step(reply lease.Reply) {
	n := e.daemon
	n.w.tally.Counts[Steps]++
	step := e.next(reply, n.momentOf(n.lends))
	switch {
	case step.Done:
		e.done(step.Err)
	case n.w.agenda.Now() > e.ends:
		e.done(errLate)
	default:
		n.soon(min(step.Pause, n.w.plan.beat()), func() { e.call(step.Call) })
	}
}

// call sends a call to the store. Lending writes registers alone, not the namespace's record.
func (e *errand) call(call lease.Call) {
	n := e.daemon
	switch {
	case call.Verb == 0:
		e.step(lease.Reply{})
		return
	case call.Verb == lease.Swap && !isRegister(call.Key):
		n.w.breaks("lending", "a daemon on %s writes %s for a borrower", n.host, call.Key)
	}
	e.calls++
	number := e.calls
	n.send(call, n.w.plan.timeout(), func() bool { return e.heard < number }, func(reply lease.Reply) {
		e.heard = number
		e.step(reply)
	})
}
