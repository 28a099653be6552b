package snowfence

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
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
				t.Errorf("its status shows %s left, want %s", left, expires-clock.Monotonic())
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
			t.Errorf("after the expiry its status shows %s left", left)
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
// in: a batch that the seal does not count has a tick that Revoke reported as never
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

// crowd has eight callers draw ids at once, each second one in batches, and returns the ids of each.
func crowd[T any](t *testing.T, calls int, next func(context.Context) (T, error), fill func(context.Context, []T) error) [][]T {
	t.Helper()
	lists := make([][]T, 8)
	var group sync.WaitGroup
	for i := range lists {
		group.Go(func() {
			batch := make([]T, 1+i*7)
			for len(lists[i]) < calls && !t.Failed() {
				ids := batch
				var err error
				if i%2 == 0 {
					ids = batch[:1]
					ids[0], err = next(t.Context())
				} else {
					err = fill(t.Context(), ids)
				}
				switch {
				case err == nil:
					lists[i] = append(lists[i], ids...)
				case !errors.Is(err, ErrSaturated):
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	return lists
}

func TestConcurrentCallersNeverShareAnID(t *testing.T) {
	g := newTestGenerator(t, GeneratorConfig{Rand: rand.Uint64})
	lists := crowd(t, 20_000, g.Next, g.Fill)
	for i, ids := range lists {
		if !slices.IsSorted(ids) {
			t.Errorf("caller %d: ids do not increase", i)
		}
	}
	all := slices.Sorted(slices.Values(slices.Concat(lists...)))
	if n := len(slices.Compact(slices.Clone(all))); n != len(all) {
		t.Errorf("%d different ids among %d", n, len(all))
	}
}

func TestRevokedGeneratorIssuesNothing(t *testing.T) {
	cause := errors.New("lease lost")
	generate(t, GeneratorConfig{Layout: smallLayout()}, func(t *testing.T, clock *testClock, g *Generator) {
		last := mustNext(t, g)
		waiting := make(chan error, 2)
		go func() { waiting <- g.Fill(t.Context(), make([]ID, 1000)) }()
		synctest.Wait()
		go func() { _, err := g.Next(t.Context()); waiting <- err }()
		synctest.Wait()
		revoked := clock.Monotonic()
		reserved := g.Revoke(cause)
		if reserved <= last.Tick {
			t.Errorf("reserved up to %d, but tick %d was issued", reserved, last.Tick)
		}
		for range 2 {
			if err := <-waiting; !errors.Is(err, ErrRevoked) || !errors.Is(err, cause) {
				t.Errorf("call that waited: %v", err)
			}
		}
		if late := clock.Monotonic() - revoked; late != 0 {
			t.Errorf("the calls that waited ended %s later", late)
		}
		for range 3 {
			clock.pass(time.Second)
			if _, err := g.Next(t.Context()); !errors.Is(err, ErrRevoked) || !errors.Is(err, cause) {
				t.Errorf("later call: %v", err)
			}
		}
		if err := g.Extend(g.Status().Until); !errors.Is(err, ErrRevoked) {
			t.Errorf("extension: %v", err)
		}
		if again := g.Revoke(errors.New("other")); again != reserved {
			t.Errorf("second revocation returns %d, the first %d", again, reserved)
		}
		if err := g.Status().Revoked; !errors.Is(err, cause) {
			t.Errorf("the first cause does not stand: %v", err)
		}
	})
}

// The sequence of the first tick may begin above 0. That reserves nothing.
func TestRevocationOfAnUnusedGeneratorReturnsTheFloor(t *testing.T) {
	for _, floor := range []Tick{0, 1, smallLayout().TickAt(testStart)} {
		for _, bits := range []uint64{0, 1, 1<<64 - 1} {
			cfg := GeneratorConfig{Layout: smallLayout(), Floor: floor, Rand: func() uint64 { return bits }}
			generate(t, cfg, func(t *testing.T, _ *testClock, g *Generator) {
				if got := g.Revoke(nil); got != floor {
					t.Errorf("floor %d, random bits %x: %d", floor, bits, got)
				}
			})
		}
	}
}

// Every id lies below what Revoke returned, however the calls race with it.
func TestRevocationCountsEveryIDThatIsReturned(t *testing.T) {
	for round := range 50 {
		g := newTestGenerator(t, GeneratorConfig{Rand: rand.Uint64})
		highest := make([]ID, 4)
		var started, group sync.WaitGroup
		for i := range highest {
			started.Add(1)
			group.Go(func() {
				batch := make([]ID, 1+100*(i%2))
				for n := 0; ; n++ {
					if n == 10 {
						started.Done()
					}
					if err := g.Fill(t.Context(), batch); err != nil {
						if n < 10 {
							started.Done()
							t.Error(err)
						}
						return
					}
					highest[i] = batch[len(batch)-1]
				}
			})
		}
		started.Wait()
		reserved := g.Revoke(nil)
		group.Wait()
		for i, id := range highest {
			if tick := parts(t, g, id).Tick; tick >= reserved {
				t.Fatalf("round %d, caller %d: tick %d is not below %d", round, i, tick, reserved)
			}
		}
	}
}
