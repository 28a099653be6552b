package sim

import (
	"slices"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/stored"
)

// strictMutants are bugs of those who keep ids unique, and forget their order.
func strictMutants() []mutant {
	// Each plan gets a holder whose clock is behind, and which is cut off until others have taken over.
	strictly := func(p *Plan) {
		p.Layout = layoutOf("ms41-seq3")
		p.Pins, p.Datacenters, p.Split, p.Journals, p.Borrowers = 1, 0, false, false, 0
		p.Batch = min(p.Batch, 7)
		p.Faults = slices.DeleteFunc(p.Faults, func(f Fault) bool { return p.check(f) != nil }) // of places that are gone
		for node := range p.Nodes - 1 {
			p.add(Fault{At: p.Length / 2, Node: node, Kind: Step, For: -p.Window / 3})
			p.add(Fault{At: p.Length / 2, Node: node, Kind: Cut, For: 3 * p.Window})
		}
		p.sort()
	}
	return []mutant{
		{name: "the worker id is taken when its ticks are over by the wall clock", bugs: func() bugs { return bugs{hear: readNoWindow} }, shape: strictly},
		{name: "a generator issues up to its bound, however long that takes", bugs: bending(neverExpire), shape: strictly},
	}
}

// TestMutantsOfStrictOrderAreCaught plants them in drawn plans with one worker id.
func TestMutantsOfStrictOrderAreCaught(t *testing.T) {
	for _, m := range strictMutants() {
		t.Run(m.name, m.caught)
	}
}

// readNoWindow finds registers whose holders have next to no window.
func readNoWindow(h *holder, e lease.Event) lease.Event {
	reply, ok := e.(lease.Reply)
	if !ok || reply.Outcome != lease.Found || h.state.View().Phase != lease.Probing {
		return e
	}
	r, err := stored.DecodeRegister(reply.Entry.Value)
	if err != nil {
		return e
	}
	r.Window = time.Nanosecond
	if value, err := r.Encode(); err == nil {
		reply.Entry.Value = value
	}
	return reply
}

func neverExpire(_ *holder, _ lease.State, _ lease.Event, requests []lease.Request) []lease.Request {
	for i, request := range requests {
		switch r := request.(type) {
		case lease.Start:
			r.Expires = 0
			requests[i] = r
		case lease.Extend:
			r.Expires = 0
			requests[i] = r
		}
	}
	return requests
}
