package sim

import (
	"time"

	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/stored"
)

// strike applies a fault of the plan to its machines or stores.
func (w *world) strike(number int, f Fault) {
	if w.quiet {
		return
	}
	if f.Kind.manner().place == aStore {
		for i, s := range w.servers {
			if f.meets(i) {
				s.suffer(number, f)
			}
		}
		return
	}
	for i, n := range w.nodes {
		// A machine's copies, and the children of its borrower, suffer with it, but are not copied again.
		if f.meets(n.as) && (f.Kind != Clone && f.Kind != Fork || i < w.plan.machines()) {
			n.suffer(f)
		}
	}
}

func (s *server) suffer(number int, f Fault) {
	switch f.Kind {
	case Outage:
		s.away = max(s.away, s.w.agenda.Now()+f.For)
		s.w.struck(Outage, s.index, "the store is away for %s", f.For)
	case Failover:
		s.failover(f.For)
	case Rollback:
		if to, ok := s.snapshots[number]; ok {
			s.w.struck(Rollback, s.index, "the store is as it was %s ago", f.For)
			s.restore(to)
		}
	case Quarantine, Vacate, Raise:
		s.operate(f)
	case Lossy:
		s.declare()
	}
}

// suffer applies a fault to the machine.
func (n *node) suffer(f Fault) {
	w, until := n.w, n.w.agenda.Now()+f.For
	switch f.Kind {
	case Right, Step, Drift, Slew, Leap:
		n.misset(f)
	case Glitch:
		n.glitch(f)
	case Pause, Suspend:
		n.pause(f)
	case CrashAfterStep, TerminateAfterStep:
		w.stepFaults = append(w.stepFaults, f)
	case Cut:
		n.cut = max(n.cut, until)
		w.struck(f.Kind, n.index, "%s for %s", n.host, f.For)
	case NoRandom:
		n.dry = max(n.dry, until)
		w.struck(f.Kind, n.index, "%s for %s", n.host, f.For)
	case TerminateExtending, TerminateResuming, PowerKeeping, PowerDiscarding, Refound:
		if n.alive || f.Kind.patient() {
			n.armed = &f
		}
	case Crash, Power:
		if n.alive && (f.Kind == Power || !n.clock.frozen) { // a process can't die on a suspended machine
			w.struck(f.Kind, n.index, "%s", n.host)
			n.crash(f.Kind == Power, f.For)
		}
	case Terminate:
		if n.alive && !n.leaving {
			w.struck(f.Kind, n.index, "%s", n.host)
			n.terminate(f.For)
		}
	case Clone:
		n.copy()
	case Fork:
		if n.alive && n.borrower != nil && len(w.nodes) < maxNodes {
			w.struck(Fork, n.index, "%s", n.host)
			n.twin(n.borrower.fork)
		}
	}
}

// misset changes one of the machine's clocks.
func (n *node) misset(f Fault) {
	switch f.Kind {
	case Right:
		n.clock.right()
	case Step:
		n.clock.step(f.For)
	case Drift:
		n.clock.drift(f.N)
	case Leap:
		n.clock.step(-f.For)
	case Slew:
		n.clock.slew(f.N)
		n.w.struck(f.Kind, n.index, "the monotonic clock of %s runs fast by %d ppm", n.host, f.N)
		return
	}
	n.w.struck(f.Kind, n.index, "the clock of %s is off by %s", n.host, n.clock.off())
}

// glitch sets the wall clock, and soon sets it back.
func (n *node) glitch(f Fault) {
	n.wrong = max(n.wrong, n.w.agenda.Now()+f.For)
	n.clock.step(time.Duration(f.N) * time.Millisecond)
	n.w.struck(f.Kind, n.index, "the clock of %s is off by %s for %s", n.host, n.clock.off(), f.For)
	n.w.agenda.After(f.For, func() {
		if !n.w.quiet {
			n.clock.step(-time.Duration(f.N) * time.Millisecond)
		}
	})
}

// crash ends the process without a word.
func (n *node) crash(power bool, rest time.Duration) {
	if n.w.plan.Journals && !n.borrows {
		n.disk.crash(power)
	}
	n.paused = 0
	n.clock.resume()
	n.end(rest)
}

// pause stops the process, or the machine with it. A process that is due to start meanwhile starts afterwards.
func (n *node) pause(f Fault) {
	now := n.w.agenda.Now()
	f.For = min(f.For, n.w.plan.Length-now) // the faults end with the plan
	if now+f.For <= n.paused || f.For <= 0 {
		return
	}
	n.w.struck(f.Kind, n.index, "%s for %s", n.host, f.For)
	n.paused = now + f.For
	if f.Kind == Suspend {
		n.clock.suspend()
	}
	n.w.agenda.After(f.For, n.goOn)
}

// goOn ends a pause, unless a longer one goes on.
func (n *node) goOn() {
	if n.w.agenda.Now() >= n.paused {
		n.clock.resume()
	}
}

// terminate asks the process to end, as SIGTERM does, and kills it when its grace is over.
func (n *node) terminate(grace time.Duration) {
	if !n.alive || n.leaving {
		return
	}
	n.soon(0, func() {
		if n.leaving {
			return
		}
		n.leaving = true
		n.soon(grace, func() { n.crash(false, upTo(n.rng, 5*n.w.plan.beat())) })
		n.step(lease.ReleaseAsked{})
	})
}

// copy makes another machine out of this one, as a snapshot of a virtual machine
// that is started beside it: with the memory of the process, but with random bits
// of its own.
func (n *node) copy() {
	w := n.w
	original := n.holder
	if !n.alive || original == nil || len(w.nodes) >= maxNodes || original.stalled != nil {
		return // events that were not taken are the driver's own: they can't be copied
	}
	w.struck(Clone, n.index, "%s", n.host)
	known := original.known()
	for _, r := range known {
		if r.worker == known[0].worker {
			n.server.forgotten[r.worker] = max(n.server.forgotten[r.worker], r.Until)
		}
		n.server.excused[r.Holder] = r.Holder != ""
	}
	if original.term != nil {
		n.server.excused[original.term.nonce] = true
	}
	twin := n.twin(original.clone)
	// A request under way is answered to one of them only.
	if awaited := twin.sent; awaited > twin.answered {
		twin.soon(w.plan.timeout(), func() { twin.hear(awaited, lease.Reply{ID: awaited, Err: errNoAnswer}) })
	}
}

// twin makes another machine beside this one, with the same host and clock and a process that is made out of this one's.
func (n *node) twin(process func(Site) Allocator) *node {
	w := n.w
	twin := newNode(w, len(w.nodes))
	twin.as, twin.host, twin.misfit, twin.server = n.as, n.host, n.misfit, n.server
	*twin.clock = *n.clock
	twin.process, twin.alive, twin.leaving, twin.answered, twin.sent = n.process, true, n.leaving, n.answered, n.sent
	twin.paused, twin.cut, twin.dry, twin.borrows = n.paused, n.cut, n.dry, n.borrows
	w.nodes = append(w.nodes, twin)
	s := twin.site()
	if s.Journal = w.plan.Journals && !n.borrows; s.Journal {
		twin.disk.take() // its disk is still empty
	}
	twin.run(process(s), s)
	w.agenda.After(twin.paused-w.agenda.Now(), twin.goOn)
	if twin.leaving {
		twin.soon(2*w.plan.Window, func() { twin.crash(false, w.plan.beat()) })
	}
	twin.soon(0, twin.mint)
	twin.setTimer()
	return twin
}

// afterStep lets the faults strike that count steps.
func (n *node) afterStep() {
	for i := range n.w.stepFaults {
		f := &n.w.stepFaults[i]
		if n.w.quiet || f.Kind == 0 || !f.meets(n.index) || int64(n.stepped) != f.N {
			continue
		}
		n.w.struck(f.Kind, n.index, "%s after its step %d", n.host, f.N)
		kind := f.Kind
		if f.Node != Everywhere {
			f.Kind = 0
		}
		if kind == CrashAfterStep {
			n.crash(false, f.For)
		} else {
			n.terminate(f.For)
		}
	}
}

// Some faults wait for an act of a machine, and strike in the midst of it.

// patient reports whether an armed fault waits for another process of the machine, if it has to.
func (k Kind) patient() bool {
	return k == TerminateResuming || k == PowerDiscarding || k == Refound
}

// arm handles an armed fault when a process starts, with a page or without.
func (n *node) arm(page bool) {
	f := n.armed
	switch {
	case f == nil:
	case !f.Kind.patient():
		n.armed = nil
	case f.Kind == TerminateResuming && page:
		n.strikes(6*n.w.plan.latency(), func() { n.terminate(f.For) })
		n.armed = nil
	}
}

// strikes lets the armed fault strike before long.
func (n *node) strikes(within time.Duration, do func()) {
	kind := n.armed.Kind
	n.soon(upTo(n.rng, within), func() {
		n.w.struck(kind, n.index, "%s", n.host)
		do()
	})
}

// spring lets the fault strike that waits for such a request.
func (n *node) spring(request lease.Request) {
	f := n.armed
	if f == nil {
		return
	}
	_, keeps := request.(lease.Keep)
	_, discards := request.(lease.Discard)
	switch {
	case f.Kind == PowerKeeping && keeps:
		n.strikes(n.w.plan.latency(), func() { n.crash(true, f.For) })
	case f.Kind == TerminateExtending && n.extending(request):
		n.strikes(n.w.plan.latency(), func() { n.terminate(f.For) })
	case f.Kind == PowerDiscarding && discards:
		n.w.agenda.After(upTo(n.rng, 5*n.w.plan.latency()), func() { n.darken(*f) })
	case f.Kind == Refound && n.claiming(request):
		n.w.agenda.After(upTo(n.rng, n.w.plan.latency()), n.server.refound)
	default:
		return
	}
	n.armed = nil
}

// darken takes the power away, from the machine and from the network between it and its store. Its
// process may have ended. A sleeping machine is left alone: a crash would end its sleep.
func (n *node) darken(f Fault) {
	if n.w.quiet || n.w.agenda.Now() < n.paused {
		return
	}
	n.w.struck(f.Kind, n.index, "%s, and it is cut off for %s", n.host, f.For)
	n.cut = max(n.cut, n.w.agenda.Now()+f.For)
	n.crash(true, upTo(n.rng, n.w.plan.beat()))
}

// claiming reports whether a request claims a worker id.
func (n *node) claiming(request lease.Request) bool {
	r, ok := asRegister(request)
	return ok && n.holder != nil && n.holder.term == nil && r.Holder != ""
}

// asRegister returns the register that a request is to write, if it is to write one.
func asRegister(request lease.Request) (stored.Register, bool) {
	swap, ok := request.(lease.Call)
	if !ok || !isRegister(swap.Key) {
		return stored.Register{}, false
	}
	r, err := stored.DecodeRegister(swap.Value)
	return r, err == nil
}
