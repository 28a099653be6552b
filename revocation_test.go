package snowfence

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// A call may have read all that it looks at before the seal. The seal is on the word
// that it has to move, so whatever it does next is refused.
func TestCallThatLookedBeforeTheRevocationTakesNothing(t *testing.T) {
	for name, take := range map[string]func(g *Generator, now, old, bound uint64) bool{
		"it read the gate": func(g *Generator, now, _, bound uint64) bool {
			return g.enter(g.state.Load(), now) < bound
		},
		"it read the word, too":             func(g *Generator, now, old, _ uint64) bool { return g.move(old, old+1, now) },
		"it takes a slot without a look":    func(g *Generator, _, _, bound uint64) bool { return g.state.Add(1)-1 < bound },
		"it takes one after others took it": func(g *Generator, _, _, bound uint64) bool { return g.state.Add(1000)-1 < bound },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, testStart, func(t *testing.T, clock *testClock) {
				g := newTestGenerator(t, GeneratorConfig{Clock: clock})
				mustNext(t, g)
				now, ok := g.now()
				if !ok {
					t.Fatal("the clocks are to be compared")
				}
				old, bound := g.state.Load(), g.bound(now)
				reserved := g.Revoke(nil)
				if take(g, now, old, bound) {
					t.Error("a slot was taken")
				}
				if got := g.Status().Reserved; got != reserved {
					t.Errorf("%d was reserved, and then %d", reserved, got)
				}
			})
		})
	}
}

// The sequence of the first tick may begin above 0. That reserves nothing.
func TestRevocationOfAnUnusedGeneratorReturnsTheFloorWhereverItsSequenceBegins(t *testing.T) {
	bubble(t, testStart, func(t *testing.T, clock *testClock) {
		for _, bits := range []uint64{0, 1, 1<<64 - 1} {
			floor := smallLayout().TickAt(testStart)
			g := newTestGenerator(t, GeneratorConfig{Layout: smallLayout(), Floor: floor, Clock: clock, Rand: func() uint64 { return bits }})
			if got := g.Revoke(nil); got != floor {
				t.Errorf("random bits %x: %d, want %d", bits, got, floor)
			}
		}
	})
}

// The seal is one step. Slots that are taken just before it are counted, and it
// overwrites nothing.
func TestRevocationCountsWhatIsTakenJustBeforeTheSeal(t *testing.T) {
	bubble(t, testStart, func(t *testing.T, clock *testClock) {
		g := newTestGenerator(t, GeneratorConfig{Layout: smallLayout(), Clock: clock})
		mustNext(t, g)
		var last Parts
		g.state.meanwhile = func() {
			for range 100 { // six ticks
				last = mustNext(t, g)
			}
		}
		if reserved := g.Revoke(nil); reserved != last.Tick+1 {
			t.Errorf("reserved up to %d, and tick %d was issued", reserved, last.Tick)
		}
		if _, err := g.Next(t.Context()); !errors.Is(err, ErrRevoked) {
			t.Errorf("a call after the seal: %v", err)
		}
	})
}

// The same in a race of real calls. A tick of two slots gives nothing to hide
// in: a batch that the seal does not count has a tick that Revoke said was never
// stamped.
func TestRevocationCountsEveryBatchOfTicksWithTwoSlots(t *testing.T) {
	l := DefaultLayout()
	l.Fields = []Field{{Kind: Time, Bits: 41}, {Kind: Worker, Bits: 10}, {Kind: Sequence, Bits: 1}}
	cfg := GeneratorConfig{Layout: l, Rand: rand.Uint64, Policy: Policy{MaxBurst: time.Hour, Start: SequenceStart{Rule: StartZero}}}
	for round := range 500 {
		g := newTestGenerator(t, cfg)
		began, ended := make(chan struct{}), make(chan struct{})
		ids, last := make([]ID, 4), ID(0)
		go func() {
			defer close(ended)
			for n, err := 0, error(nil); n <= 100 || err == nil; n++ {
				if err = g.Fill(t.Context(), ids); err == nil {
					last = ids[3]
				}
				if n == 100 {
					close(began)
				}
			}
		}()
		<-began
		reserved := g.Revoke(nil)
		<-ended
		if tick := parts(t, g, last).Tick; tick >= reserved {
			t.Fatalf("round %d: tick %d is not below %d", round, tick, reserved)
		}
	}
}
