package snowfence

import "testing"

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
