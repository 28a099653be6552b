package snowfence

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestConfigAtFaultIsNamed(t *testing.T) {
	l := smallLayout()
	worker, beyond, below := int64(0), int64(1024), int64(-1)
	until := l.HorizonTick()
	cases := map[string]GeneratorConfig{
		"1024":           {Layout: l, Worker: &beyond, Until: until},
		"-1, must":       {Layout: l, Worker: &below, Until: until},
		"floor":          {Layout: l, Worker: &worker, Floor: -1, Until: until},
		"until":          {Layout: l, Worker: &worker, Floor: 10, Until: 10},
		"floor, 0":       {Layout: l, Worker: &worker, Until: -1},
		"horizon":        {Layout: l, Worker: &worker, Until: until + 1},
		"total is 73":    {Layout: Layout{Unit: l.Unit, Epoch: l.Epoch, Fields: []Field{{Kind: Time, Bits: 61}, {Kind: Sequence, Bits: 12}}}, Worker: &worker},
		"max-rollback":   {Layout: l, Worker: &worker, Until: until, Policy: Policy{MaxRollback: -1}},
		"max-burst":      {Layout: l, Worker: &worker, Until: until, Policy: Policy{MaxBurst: -1}},
		"max-wait":       {Layout: l, Worker: &worker, Until: until, Policy: Policy{MaxWait: time.Millisecond}},
		"sequence-start": {Layout: l, Worker: &worker, Until: until, Policy: Policy{Start: SequenceStart{Rule: StartRandom, Max: 16}}},
	}
	for word, cfg := range cases {
		for name, construct := range constructors() {
			if _, err := construct(cfg); err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("%s, %s: error is %v", name, word, err)
			}
		}
	}
}

func constructors() map[string]func(GeneratorConfig) (*Generator, error) {
	return map[string]func(GeneratorConfig) (*Generator, error){"fenced": NewGenerator, "unfenced": NewUnfencedGenerator}
}

// A worker number or a window that was forgotten is no worker 0 without a
// bound.
func TestGeneratorWithoutWorkerOrWindowIsRefused(t *testing.T) {
	worker, until := int64(0), DefaultLayout().TickAt(testStart)
	cases := []struct {
		name             string
		cfg              GeneratorConfig
		fenced, unfenced string // what the errors say, if any
	}{
		{"the zero value", GeneratorConfig{}, "worker is not given", "worker is not given"},
		{"no worker", GeneratorConfig{Until: until}, "worker is not given", "worker is not given"},
		{"no window", GeneratorConfig{Worker: &worker}, "until is 0: must be given: use package fence, or NewUnfencedGenerator", ""},
		{"both", GeneratorConfig{Worker: &worker, Until: until}, "", ""},
	}
	for _, c := range cases {
		for name, want := range map[string]string{"fenced": c.fenced, "unfenced": c.unfenced} {
			g, err := constructors()[name](c.cfg)
			switch {
			case want == "" && err != nil:
				t.Errorf("%s, %s: %v", c.name, name, err)
			case want != "" && (g != nil || err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("%s, %s: %v, want %q", c.name, name, err, want)
			}
		}
	}
}

func TestUnfencedGeneratorKeepsToAWindowThatIsGiven(t *testing.T) {
	for until, want := range map[Tick]Tick{0: DefaultLayout().HorizonTick(), 1: 1} {
		g, err := NewUnfencedGenerator(GeneratorConfig{Worker: new(int64), Until: until})
		if err != nil {
			t.Fatal(err)
		}
		if got := g.Status().Until; got != want {
			t.Errorf("until %d: %d, want %d", until, got, want)
		}
	}
}

// smallLayout holds 16 ids a tick, so that bursts are easy to make.
func smallLayout() Layout {
	l := DefaultLayout()
	l.Fields = []Field{{Kind: Time, Bits: 41}, {Kind: Worker, Bits: 10}, {Kind: Sequence, Bits: 4}}
	return l
}

// newTestGenerator returns a generator with seeded randomness, of worker 0 and
// with an open window unless cfg says otherwise.
func newTestGenerator(t *testing.T, cfg GeneratorConfig) *Generator {
	t.Helper()
	if cfg.Rand == nil {
		var mu sync.Mutex
		seeded := rand.New(rand.NewPCG(1, 2))
		cfg.Rand = func() uint64 {
			mu.Lock()
			defer mu.Unlock()
			return seeded.Uint64()
		}
	}
	if cfg.Worker == nil {
		cfg.Worker = new(int64)
	}
	g, err := NewUnfencedGenerator(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func mustNext(t *testing.T, g *Generator) Parts {
	t.Helper()
	id, err := g.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return parts(t, g, id)
}

// generate runs rule in virtual time from testStart on, with a generator on the clock that it gets.
func generate(t *testing.T, cfg GeneratorConfig, rule func(t *testing.T, clock *testClock, g *Generator)) {
	t.Helper()
	bubble(t, testStart, func(t *testing.T, clock *testClock) {
		cfg.Clock = clock
		rule(t, clock, newTestGenerator(t, cfg))
	})
}

func mustFill(t *testing.T, g *Generator, n int) []ID {
	t.Helper()
	ids := make([]ID, n)
	if err := g.Fill(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	return ids
}

// checkNext checks the error of a call.
func checkNext(t *testing.T, g *Generator, want error, when string) {
	t.Helper()
	if _, err := g.Next(t.Context()); !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", when, err, want)
	}
}

func parts(t *testing.T, g *Generator, id ID) Parts {
	t.Helper()
	p, err := g.layout.Decompose(id)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestIDsCarryTheTickAndTheWorker(t *testing.T) {
	bubble(t, testStart, func(t *testing.T, clock *testClock) {
		for _, preset := range Presets() {
			l := preset.Layout
			last := l.Workers() - 1
			if testStart.After(l.Horizon()) {
				continue
			}
			g := newTestGenerator(t, GeneratorConfig{Layout: l, Worker: &last, Clock: clock})
			p := mustNext(t, g)
			datacenter, worker, err := l.SplitWorker(last)
			if err != nil {
				t.Fatal(err)
			}
			if p.Tick != l.TickAt(testStart) || p.Datacenter != datacenter || p.Worker != worker {
				t.Errorf("%s: %+v, want tick %d, datacenter %d, worker %d", preset.Name, p, l.TickAt(testStart), datacenter, worker)
			}
		}
	})
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

func TestNoTickIsStampedOutsideTheWindow(t *testing.T) {
	bubble(t, testStart, func(t *testing.T, clock *testClock) {
		l := smallLayout()
		floor := l.TickAt(testStart) + 100
		g := newTestGenerator(t, GeneratorConfig{Layout: l, Floor: floor, Until: floor + 50, Clock: clock})
		if p := mustNext(t, g); p.Tick != floor {
			t.Errorf("first tick %d, want the floor %d", p.Tick, floor)
		}
		// The clock is 100 ms behind the floor: the ticks of the window may be
		// used as now comes to them, at half pace.
		var last Tick
		for {
			id, err := g.Next(t.Context())
			if err != nil {
				if !errors.Is(err, ErrWindowEnded) {
					t.Errorf("error at the end of the window: %v", err)
				}
				break
			}
			last = parts(t, g, id).Tick
		}
		if last != floor+49 {
			t.Errorf("last tick %d, want %d", last, floor+49)
		}
		if err := g.Extend(floor + 60); err != nil {
			t.Fatal(err)
		}
		clock.pass(200 * time.Millisecond)
		checkNext(t, g, ErrWindowEnded, "after a window that went by unused")
		if err := g.Extend(floor + 1000); err != nil {
			t.Fatal(err)
		}
		if p := mustNext(t, g); p.Tick != l.TickAt(clock.Wall()) {
			t.Errorf("tick %d, want now, %d", p.Tick, l.TickAt(clock.Wall()))
		}
	})
}

func TestWindowNeverShrinksNorPassesTheHorizon(t *testing.T) {
	bubble(t, testStart, func(t *testing.T, clock *testClock) {
		l := smallLayout()
		now := l.TickAt(testStart)
		g := newTestGenerator(t, GeneratorConfig{Layout: l, Until: now + 50, Clock: clock})
		for _, until := range []Tick{now + 49, 0, l.HorizonTick() + 1} {
			if err := g.Extend(until); err == nil {
				t.Errorf("extended to %d", until)
			}
		}
		if err := g.Extend(now + 50); err != nil {
			t.Errorf("an equal bound is refused: %v", err)
		}
		if got := g.Status().Until; got != now+50 {
			t.Errorf("until %d, want %d", got, now+50)
		}
	})
}

func TestExtensionReleasesCallsThatWaitForTheWindow(t *testing.T) {
	bubble(t, testStart, func(t *testing.T, clock *testClock) {
		l := smallLayout()
		now := l.TickAt(testStart)
		g := newTestGenerator(t, GeneratorConfig{Layout: l, Until: now + 2, Clock: clock, Policy: Policy{Start: SequenceStart{Rule: StartZero}}})
		ids := make([]ID, 64) // four ticks; the window has two
		done := make(chan error, 1)
		go func() { done <- g.Fill(t.Context(), ids) }()
		synctest.Wait()
		if err := g.Extend(now + 10); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if p := parts(t, g, ids[63]); p.Tick != now+3 || p.Sequence != 15 {
			t.Errorf("last id %+v, want tick %d, sequence 15", p, now+3)
		}
	})
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

func TestTimeOutsideTheLayoutIsRefused(t *testing.T) {
	l := smallLayout()
	cases := []struct {
		name string
		wall time.Time
		want error
	}{
		{"before the epoch", l.Epoch.Add(-time.Millisecond), ErrBeforeEpoch},
		{"long before the epoch", l.Epoch.AddDate(-300, 0, 0), ErrBeforeEpoch},
		{"at the epoch", l.Epoch, nil},
		{"in the last tick", l.Horizon().Add(-time.Millisecond), nil},
		{"at the horizon", l.Horizon(), ErrPastHorizon},
		{"long past the horizon", l.Horizon().AddDate(200, 0, 0), ErrPastHorizon},
	}
	for _, policy := range []Policy{{}, {WallEveryCall: true}} {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				bubble(t, c.wall, func(t *testing.T, clock *testClock) {
					g := newTestGenerator(t, GeneratorConfig{Layout: l, Clock: clock, Policy: policy})
					if _, err := g.Next(t.Context()); !errors.Is(err, c.want) {
						t.Errorf("got %v, want %v", err, c.want)
					}
				})
			})
		}
	}
}

func TestLayoutRunsOutWithoutWrappingAround(t *testing.T) {
	l := smallLayout()
	bubble(t, l.Horizon().Add(-20*time.Millisecond), func(t *testing.T, clock *testClock) {
		worker := int64(1023)
		g := newTestGenerator(t, GeneratorConfig{Layout: l, Worker: &worker, Clock: clock})
		var last ID
		for {
			id, err := g.Next(t.Context())
			if err != nil {
				if !errors.Is(err, ErrPastHorizon) {
					t.Errorf("at the end: %v", err)
				}
				break
			}
			if id <= last {
				t.Fatalf("id %d after %d", id, last)
			}
			last = id
		}
		if p := parts(t, g, last); p.Tick != l.HorizonTick()-1 || p.Sequence != 15 {
			t.Errorf("last id %+v, want the last of all", p)
		}
	})
}

func TestCallsDoNotAllocate(t *testing.T) {
	g := newTestGenerator(t, GeneratorConfig{Rand: rand.Uint64})
	batch := make([]ID, 64)
	if n := testing.AllocsPerRun(1000, func() { _, _ = g.Next(t.Context()) }); n != 0 {
		t.Errorf("Next allocates %v times", n)
	}
	ctx := t.Context()
	if n := testing.AllocsPerRun(1000, func() { _ = g.Fill(ctx, batch) }); n != 0 {
		t.Errorf("Fill allocates %v times", n)
	}
}

func BenchmarkNext(b *testing.B) {
	l := DefaultLayout()
	l.Fields = []Field{{Kind: Time, Bits: 41}, {Kind: Worker, Bits: 1}, {Kind: Sequence, Bits: 21}}
	ctx := b.Context()
	b.Run("serial", func(b *testing.B) {
		g, err := NewUnfencedGenerator(GeneratorConfig{Layout: l, Worker: new(int64)})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := g.Next(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parallel", func(b *testing.B) {
		g, err := NewUnfencedGenerator(GeneratorConfig{Layout: l, Worker: new(int64)})
		if err != nil {
			b.Fatal(err)
		}
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := g.Next(ctx); err != nil {
					b.Error(err)
				}
			}
		})
	})
}

func BenchmarkFill(b *testing.B) {
	l := DefaultLayout()
	l.Fields = []Field{{Kind: Time, Bits: 40}, {Kind: Worker, Bits: 1}, {Kind: Sequence, Bits: 22}}
	g, err := NewUnfencedGenerator(GeneratorConfig{Layout: l, Worker: new(int64)})
	if err != nil {
		b.Fatal(err)
	}
	ids := make([]ID, 1000)
	for b.Loop() {
		if err := g.Fill(b.Context(), ids); err != nil {
			b.Fatal(err)
		}
	}
}

func TestFillWithinWaitsForItsOwnLimit(t *testing.T) {
	for _, test := range []struct{ limit, waits time.Duration }{{0, 0}, {2 * time.Millisecond, 0}, {time.Minute, 3 * time.Millisecond}} {
		t.Run(test.limit.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				layout := smallLayout()
				layout.Epoch = time.Unix(0, 0)
				g := newTestGenerator(t, GeneratorConfig{Layout: layout, Policy: Policy{MaxBurst: 1, MaxWait: 10 * time.Millisecond, Start: SequenceStart{Rule: StartZero}}})
				begun := time.Now()
				err := g.FillWithin(t.Context(), test.limit, make([]ID, 64)) // of four ticks
				var wait *WaitError
				switch took := time.Since(begun); {
				case took != test.waits:
					t.Errorf("it took %s", took)
				case took == 0 && (!errors.As(err, &wait) || wait.Limit != test.limit):
					t.Errorf("the error is %v", err)
				case took > 0 && err != nil:
					t.Error(err)
				}
			})
		})
	}
}
