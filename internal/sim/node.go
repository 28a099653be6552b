package sim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/sim/trace"
)

// node is one machine. Most of the time a process runs on it: an allocator, and the caller of its ids.
type node struct {
	w       *world
	index   int
	as      int // the machine that it is, or is a copy of
	host    string
	clock   *clock
	server  *server
	disk    nodeDisk
	net     *rand.Rand // decides the faults of its messages
	rng     *rand.Rand // and everything else
	nonces  *rand.Rand // for the random bits of its processes
	nudges  *rand.Rand // decides how soon they hear of a call that was refused
	lends   *rand.Rand // for the random bits of its lending
	borrows bool       // a borrower runs on it
	misfit  bool
	living  bool // it issued since the faults ended
	stepped int  // steps of all its processes

	process   int // counts its processes, begun and ended; messages to an earlier one are void
	allocator Allocator
	holder    *holder   // the allocator if it is ours; nil for another, which lacks terms
	borrower  *borrower // the allocator if it borrows
	caller    *caller
	asIssuer  *issuer // the issuer of an allocator without terms
	alive     bool
	paused    time.Duration // stopped until then
	cut       time.Duration // cut off from the store until then
	dry       time.Duration // lacks random bits until then
	wrong     time.Duration // its clock has a glitch until then
	waking    int           // counts settings of the timer; an earlier one is void
	sent      uint64        // the id of the last request
	answered  uint64        // the greatest id of a request that was answered or given up
	leaving   bool          // it was asked to end
	armed     *Fault        // strikes when the process makes a certain request

	calling *issuer       // the issuer of the present call
	begun   time.Duration // when the call began, on the monotonic clock
	batch   []snowfence.ID
}

func newNode(w *world, index int) *node {
	n := &node{
		w: w, index: index, as: index, host: fmt.Sprintf("host-%d", index),
		net: w.source(1000 + 8*index), rng: w.source(1001 + 8*index), nonces: w.source(1002 + 8*index),
		nudges: w.source(1004 + 8*index), lends: w.source(1005 + 8*index),
		clock:   &clock{agenda: &w.agenda, begin: w.begin},
		server:  w.servers[0],
		misfit:  index >= w.plan.Nodes-w.plan.Misfits && index < w.plan.Nodes,
		borrows: index >= w.plan.Nodes && index < w.plan.machines(),
	}
	if w.plan.Split {
		n.server = w.servers[index%w.plan.Datacenters]
	}
	rng := w.source(1003 + 8*index)
	n.disk = nodeDisk{n: n, rng: rng, volume: newVolume(rng)}
	if w.plan.Shared && index%2 == 1 && index < w.plan.Nodes {
		n.disk.volume = w.nodes[index-1].disk.volume
	}
	return n
}

// site returns the site of the next process.
func (n *node) site() Site {
	s := Site{
		Node: n.as, Process: n.process, Host: n.host, Layout: n.w.plan.Layout, Plan: n.w.plan, Clock: n.clock,
		Moment: n.moment, Rand: n.rng, world: n.w, node: n,
	}
	if n.misfit {
		s.Layout = misfit(s.Layout)
	}
	if n.w.plan.Datacenters > 0 {
		s.Datacenter = int64(n.as % n.w.plan.Datacenters)
	}
	s.Sleep = func(d time.Duration) bool { return n.caller.sleep(n.clock.Monotonic(), d) }
	return s
}

// boot starts a process.
func (n *node) boot() {
	if n.alive {
		return
	}
	if rest := n.paused - n.w.agenda.Now(); rest > 0 {
		n.w.agenda.After(rest, n.boot)
		return
	}
	n.process++
	n.w.tally.Counts[Processes]++
	s, program := n.site(), n.w.program
	if n.borrows {
		program = borrows
	} else if n.w.plan.Journals {
		s.page, s.Journal = n.disk.take()
	}
	allocator, err := program(s)
	if err != nil {
		n.w.breaks("harness", "%s: %v", n.host, err)
		return
	}
	n.w.tell("%s starts process %d", n.host, n.process)
	n.record(trace.Step{Kind: trace.Remark, Note: "starts"})
	n.alive, n.leaving, n.sent, n.answered = true, false, 0, 0
	n.run(allocator, s)
	n.arm(s.page != nil)
	n.step(lease.Started{Page: s.page})
	n.soon(upTo(n.rng, n.w.plan.beat()), n.mint)
}

// run gives an allocator a caller.
func (n *node) run(a Allocator, s Site) {
	n.allocator, n.caller = a, newCaller(a.Mint)
	n.holder, _ = a.(*holder)
	n.borrower, _ = a.(*borrower)
	n.clock.caller = n.caller
	n.asIssuer = n.w.issuerOf(s, fmt.Sprintf("%s, process %d", n.host, n.process))
}

// end takes the process away, and plans the next.
func (n *node) end(rest time.Duration) {
	if !n.alive {
		return
	}
	n.record(trace.Step{Kind: trace.Forget, Note: "is gone"})
	n.alive = false
	n.process++
	if !n.borrows {
		n.disk.leave()
	}
	n.caller.end()
	n.clock.caller = nil
	n.w.agenda.After(rest, n.boot)
}

// soon plans something that this process does, unless it is gone by then; a
// process that is stopped does it when it goes on.
func (n *node) soon(d time.Duration, do func()) { n.soonAs(n.process, d, do) }

func (n *node) soonAs(process int, d time.Duration, do func()) {
	var act func()
	act = func() {
		switch {
		case !n.alive || n.process != process:
		case n.w.agenda.Now() < n.paused:
			n.w.agenda.After(n.paused-n.w.agenda.Now(), act)
		default:
			do()
		}
	}
	n.w.agenda.After(d, act)
}

func (n *node) moment() lease.Moment { return n.momentOf(n.nonces) }

func (n *node) momentOf(random *rand.Rand) lease.Moment {
	now := lease.Moment{Wall: n.clock.Wall(), Monotonic: n.clock.Monotonic()}
	for i := 0; i < len(now.Random); i += 8 {
		binary.LittleEndian.PutUint64(now.Random[i:], random.Uint64())
	}
	return now
}

// step takes an event to the allocator, and carries out its requests.
func (n *node) step(e lease.Event) {
	if !n.alive {
		return
	}
	n.w.tally.Counts[Steps]++
	n.stepped++
	process := n.process
	for _, request := range n.allocator.Step(e, n.moment()) {
		n.perform(request)
		if n.process != process {
			return
		}
	}
	if n.w.trace != nil {
		n.w.tell("%s: %s", n.host, describe(e))
	}
	// A bound may have come, or the generator may be gone.
	if n.caller.busy && !n.caller.sleeps {
		n.resume()
	}
	n.setTimer()
	n.afterStep()
}

// setTimer plans the next Woken.
func (n *node) setTimer() {
	n.waking++
	at, ok := n.allocator.Wake()
	if !ok {
		return
	}
	waking := n.waking
	n.soon(n.clock.lasting(at-n.clock.Monotonic()), func() {
		if n.waking == waking {
			n.step(lease.Woken{})
		}
	})
}

func (n *node) perform(request lease.Request) {
	n.spring(request)
	if n.w.trace != nil {
		n.w.tell("%s asks for %s", n.host, describe(request))
	}
	switch r := request.(type) {
	case lease.Call:
		n.call(r)
	case lease.Keep:
		n.disk.keep(r)
	case lease.Discard:
		n.disk.discard(r)
	case lease.Report:
		n.report(r)
	}
}

// extending reports whether a request extends the process's term. For an allocator without terms any
// write counts.
func (n *node) extending(request lease.Request) bool {
	r, ok := asRegister(request)
	if h := n.holder; h != nil {
		return ok && h.term != nil && r.Holder == h.term.nonce
	}
	call, _ := request.(lease.Call)
	return call.Verb == lease.Swap
}

func (n *node) report(r lease.Report) {
	w := n.w
	var full *lease.ExhaustedError
	var wrong *lease.ClockError
	var past *lease.TimeError
	switch r.What {
	case lease.Lost:
		w.tally.Counts[Losses]++
	case lease.Ended:
		w.tally.Counts[Releases]++
		n.end(upTo(n.rng, 5*w.plan.beat()))
	case lease.GaveUp:
		w.tally.Counts[GivenUp]++
		switch {
		case errors.As(r.Err, &full):
			w.tally.Counts[Exhausted]++
		case errors.As(r.Err, &wrong):
			w.tally.Counts[ClockErrors]++
		case errors.As(r.Err, &past):
			w.tally.Counts[PastHorizon]++
		}
	case lease.Broken:
		w.brokeDown(n, r.Err)
		n.end(upTo(n.rng, 15*w.plan.beat()))
	}
}

// issuer returns the present issuer of the process; nil if it holds nothing.
func (n *node) issuer() *issuer {
	switch {
	case n.holder != nil:
		return n.holder.term
	case n.borrower != nil:
		return n.borrower.by
	}
	return n.asIssuer
}

// mint makes a call for ids, and plans the next call.
func (n *node) mint() {
	p := n.w.plan
	n.soon(upTo(n.rng, p.beat()), n.mint)
	if n.caller.busy {
		return
	}
	size := 1
	if p.Batch > 1 && chance(n.rng, 60) {
		x := n.rng.Float64()
		size += int(float64(p.Batch) * (x * x * x * x)) // most often it is small
	}
	by := n.issuer()
	if by == nil {
		return
	}
	if cap(n.batch) < size {
		n.batch = make([]snowfence.ID, max(size, p.Batch))
	}
	n.w.tally.Counts[Calls]++
	n.begun = n.clock.Monotonic()
	n.calling = by
	if n.caller.begin(n.batch[:size]) {
		n.called()
		return
	}
	n.w.tally.Counts[Waits]++
	n.await()
}

// await plans when a call that waits goes on by itself.
func (n *node) await() {
	c, number, waits := n.caller, n.caller.number, n.caller.waits
	// It must plan to end in time. It may end later if the machine is stopped.
	if by := n.calling; by.generator != nil && c.due-n.begun > n.w.plan.MaxWait {
		n.w.breaks("waiting", "%s: a call would wait for %s, and may for %s", by.name, c.due-n.begun, n.w.plan.MaxWait)
	}
	n.soon(n.clock.lasting(c.due-n.clock.Monotonic()), func() {
		if c != n.caller || !c.busy || c.number != number || c.waits != waits {
			return
		}
		if c.due > n.clock.Monotonic() {
			n.await() // the machine was suspended meanwhile
			return
		}
		n.resume()
	})
}

// resume goes on with the call that waits.
func (n *node) resume() {
	if n.caller.resume(n.clock.Wall()) {
		n.called()
		return
	}
	n.punctual()
	n.await()
}

// punctual checks that a call that goes on waiting may do so.
func (n *node) punctual() {
	by := n.calling
	waited := n.clock.Monotonic() - n.begun
	switch {
	case by.generator == nil:
	case waited >= n.w.plan.MaxWait:
		n.w.breaks("waiting", "%s: a call waits for %s, and may for %s", by.name, waited, n.w.plan.MaxWait)
	case by.sealed:
		n.w.breaks("waiting", "%s: a call still waits, and its generator is sealed", by.name)
	}
}

// called takes the end of a call.
func (n *node) called() {
	c, by := n.caller, n.calling
	if c.err != nil {
		n.w.tally.Counts[Refusals]++
		switch {
		case errors.Is(c.err, snowfence.ErrPastHorizon):
			n.w.tally.Counts[PastHorizon]++
		case errors.Is(c.err, snowfence.ErrWindowEnded), errors.Is(c.err, snowfence.ErrRevoked), errors.Is(c.err, snowfence.ErrClockBehind):
			if n.holder == nil || n.holder.heeds(c.err) {
				late := time.Duration(0)
				if n.w.agenda.Now() < n.wrong { // the clock may be right again when it hears
					late = upTo(n.nudges, n.w.plan.beat())
				}
				n.soon(late, func() { n.step(lease.WindowEnded{}) })
			}
		}
		return
	}
	n.living = n.living || n.w.quiet && c.n > 0
	n.w.issued(by, c.ids[:c.n])
}
