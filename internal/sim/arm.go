package sim

import (
	"time"

	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/stored"
)

// Some faults wait for what a machine does, and strike in the midst of it.

// patient reports whether a fault that is armed waits for another process of the
// machine, if it has to.
func (k Kind) patient() bool {
	return k == TerminateResuming || k == PowerDiscarding || k == Refound
}

// arm is what becomes of an armed fault when a process starts, with a page or without.
func (n *node) arm(page bool) {
	f := n.armed
	switch {
	case f == nil:
	case !f.Kind.patient():
		n.armed = nil
	case f.Kind == TerminateResuming && page:
		n.armed = nil
		n.soon(upTo(n.rng, 6*n.w.plan.latency()), func() {
			n.w.struck(f.Kind, n.index, "%s", n.host)
			n.terminate(f.For)
		})
	}
}

// spring lets the fault strike that waits for such a request.
func (n *node) spring(request lease.Request) {
	f := n.armed
	if f == nil {
		return
	}
	_, keeps := request.(lease.Keep)
	_, discards := request.(lease.Discard)
	strikes := func(in time.Duration, do func()) {
		n.soon(upTo(n.rng, in), func() {
			n.w.struck(f.Kind, n.index, "%s", n.host)
			do()
		})
	}
	switch {
	case f.Kind == PowerKeeping && keeps:
		strikes(n.w.plan.latency(), func() { n.crash(true, f.For) })
	case f.Kind == TerminateExtending && n.extending(request):
		strikes(n.w.plan.latency(), func() { n.terminate(f.For) })
	case f.Kind == PowerDiscarding && discards:
		n.w.agenda.After(upTo(n.rng, 5*n.w.plan.latency()), func() { n.darken(*f) })
	case f.Kind == Refound && n.claiming(request):
		n.w.agenda.After(upTo(n.rng, n.w.plan.latency()), n.server.refound)
	default:
		return
	}
	n.armed = nil
}

// darken takes the power away, from the machine and from what is between it and its
// store. Its process may have ended. One that sleeps is left alone: it would be awake
// for the night.
func (n *node) darken(f Fault) {
	if n.w.quiet || n.w.agenda.Now() < n.paused {
		return
	}
	n.w.struck(f.Kind, n.index, "%s, and it reaches no store for %s", n.host, f.For)
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
