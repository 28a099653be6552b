package sim

import (
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/stored"
)

// strictMutants are bugs that keep ids unique, and break their order.
func strictMutants() []mutant {
	return []mutant{
		{name: "the worker id is taken when its ticks are over by the wall clock", bugs: func() bugs { return bugs{hear: readNoWindow} }, shape: fallsBehind},
		{name: "a generator issues up to its bound, however long that takes", bugs: bending(neverExpire), shape: fallsBehind},
	}
}

// fallsBehind is two machines with one worker id. By turns the clock of either steps back by a window, which its
// generator bears. Soon after, the machine is cut off from the store, until the other one has taken over. Drawn
// plans come to that too rarely.
func fallsBehind(p *Plan) {
	seed := p.Seed
	*p = Plain()
	p.Seed, p.Rough, p.Layout, p.Pins, p.Batch = seed, true, layoutOf("ms41-seq3"), 1, 7
	p.MaxRollback, p.Length, p.Weather = 2*p.Window, 20*p.Window, Weather{Lost: 5, Late: 5, Slow: 5}
	for node, at := 0, 2*p.Window; at < p.Length; node, at = 1-node, at+3*p.Window {
		p.Faults = append(p.Faults, Fault{At: at - p.Window/3, Node: node, Kind: Step, For: -p.Window},
			Fault{At: at, Node: node, Kind: Cut, For: 2 * p.Window}, Fault{At: at + 2*p.Window, Node: node, Kind: Right})
	}
}

// TestMutantsOfStrictOrderAreCaught plants them in plans with one worker id, in which the true code keeps the order.
func TestMutantsOfStrictOrderAreCaught(t *testing.T) {
	for _, m := range strictMutants() {
		t.Run(m.name, m.caught)
	}
	for seed := range uint64(20) {
		p := Plan{Seed: seed}
		fallsBehind(&p)
		if r := Run(p, Config{}); len(r.Findings) > 0 {
			t.Errorf("seed %d, without a bug: %s", seed, r.Findings[0])
		}
	}
}

// readNoWindow finds registers whose holders have a window of one nanosecond.
func readNoWindow(h *holder, e lease.Event) lease.Event {
	return found(e, func(reply *lease.Reply) {
		r, err := stored.DecodeRegister(reply.Entry.Value)
		if err != nil || h.state.View().Phase != lease.Probing {
			return
		}
		r.Window = time.Nanosecond
		if value, err := r.Encode(); err == nil {
			reply.Entry.Value = value
		}
	})
}

func neverExpire(_ *holder, _ lease.State, _ lease.Event, requests []lease.Request) []lease.Request {
	return bounds(requests, func(_ *snowfence.Tick, expires *time.Duration) { *expires = 0 })
}
