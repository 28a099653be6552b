package snowfence

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// A window that ends within the burst is what stops busy callers, and each of
// the two ways to an id has a look of its own at it. Layouts of few slots a
// tick never come near the lane, and those of many never use a burst up.
func TestNoCallGetsPastAWindowThatEndsWithinTheBurst(t *testing.T) {
	ways := map[string]func(t *testing.T, cfg GeneratorConfig) *Generator{
		"the slow way": func(t *testing.T, cfg GeneratorConfig) *Generator {
			cfg.Layout = smallLayout()
			return newTestGenerator(t, cfg)
		},
		"the lane": newTestGenerator,
	}
	for way, generator := range ways {
		for _, ticks := range []Tick{1, 2, 5} {
			bubble(t, testStart, func(t *testing.T, clock *testClock) {
				until := DefaultLayout().TickAt(testStart) + ticks
				g := generator(t, GeneratorConfig{Until: until, Clock: clock})
				var last Parts
				for {
					id, err := g.Next(t.Context())
					if err != nil {
						if !errors.Is(err, ErrWindowEnded) {
							t.Errorf("%s: %v", way, err)
						}
						break
					}
					if last = parts(t, g, id); last.Tick >= until {
						t.Fatalf("%s: tick %d at a bound of %d", way, last.Tick, until)
					}
				}
				if last.Tick != until-1 || last.Sequence != int64(g.mask) {
					t.Errorf("%s: the last id is %+v, not the window's last", way, last)
				}
				before := g.state.Load()
				for range 1000 {
					if _, err := g.Next(t.Context()); !errors.Is(err, ErrWindowEnded) {
						t.Fatalf("%s: %v", way, err)
					}
				}
				if used := g.state.Load() - before; used != 0 {
					t.Errorf("%s: 1,000 refused calls used %d slots up", way, used)
				}
				// Slots beyond the window that were given up became no ids.
				if reserved := g.Revoke(nil); reserved != until {
					t.Errorf("%s: reserved up to %d, want %d", way, reserved, until)
				}
			})
		}
	}
}

func TestNothingIsIssuedFromTheExpiryOnWhateverTheWallClockSays(t *testing.T) {
	bubble(t, testStart, func(t *testing.T, clock *testClock) {
		l := smallLayout()
		floor := l.TickAt(testStart)
		until := floor + 100_000
		expires := clock.Monotonic() + 50*time.Millisecond
		g := newTestGenerator(t, GeneratorConfig{Layout: l, Floor: floor, Until: until, Expires: expires, Clock: clock})
		for clock.Monotonic() < expires {
			if left := g.Status().Left; left != expires-clock.Monotonic() {
				t.Errorf("ids are said to last for %s, want %s", left, expires-clock.Monotonic())
			}
			mustNext(t, g)
			clock.pass(5 * time.Millisecond)
		}
		fails := func(when string) {
			t.Helper()
			if _, err := g.Next(t.Context()); !errors.Is(err, ErrWindowEnded) {
				t.Errorf("%s, Next: %v", when, err)
			}
			if err := g.Fill(t.Context(), make([]ID, 3)); !errors.Is(err, ErrWindowEnded) {
				t.Errorf("%s, Fill: %v", when, err)
			}
		}
		fails("at the expiry")
		if left := g.Status().Left; left != 0 {
			t.Errorf("after the expiry ids are said to last for %s", left)
		}
		if err := g.Extend(until + 1); err != nil {
			t.Fatal(err)
		}
		fails("with more ticks, and no more time")
		if err := g.ExtendWithin(until+1, expires-time.Millisecond); err != nil {
			t.Fatal(err)
		}
		fails("with an expiry that moved back")
		// A pause of the process: its next call sees the time.
		if err := g.ExtendWithin(until+1, clock.Monotonic()+10*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		mustNext(t, g)
		clock.pass(time.Hour)
		fails("after a pause")
		if err := g.ExtendWithin(until+10_000_000, clock.Monotonic()+10*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if p := mustNext(t, g); p.Tick != l.TickAt(clock.Wall()) {
			t.Errorf("tick %d, want now, %d", p.Tick, l.TickAt(clock.Wall()))
		}
	})
}

func TestExpiryIsRefusedWhereEachCallReadsTheWallClockAlone(t *testing.T) {
	worker := int64(0)
	_, err := NewGenerator(GeneratorConfig{Worker: &worker, Until: 10, Expires: time.Second, Policy: Policy{WallEveryCall: true}})
	if err == nil {
		t.Error("the generator was made")
	}
}

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
			generate(t, GeneratorConfig{}, func(t *testing.T, _ *testClock, g *Generator) {
				mustNext(t, g)
				now, ok := g.now()
				if !ok {
					t.Fatal("the clocks are to be compared")
				}
				old, bound := g.state.Load(), min(g.gate.Load(), now<<g.seqBits+g.ahead)
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

// The seal is one step. Slots that are taken just before it are counted, and it
// overwrites nothing.
func TestRevocationCountsWhatIsTakenJustBeforeTheSeal(t *testing.T) {
	generate(t, GeneratorConfig{Layout: smallLayout()}, func(t *testing.T, _ *testClock, g *Generator) {
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
		checkNext(t, g, ErrRevoked, "a call after the seal")
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
