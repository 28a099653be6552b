package snowfence

import (
	"cmp"
	"errors"
	"math/rand/v2"
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
		if _, err := NewGenerator(cfg); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: error is %v", word, err)
		}
	}
}

// A worker number or a window that was forgotten is no worker 0 without a
// bound.
func TestGeneratorWithoutWorkerOrWindowIsRefused(t *testing.T) {
	worker, until := int64(0), DefaultLayout().TickAt(testStart)
	cases := []struct {
		name string
		cfg  GeneratorConfig
		want string // a part of the error, if any
	}{
		{"the zero value", GeneratorConfig{}, "worker is not given"},
		{"no worker", GeneratorConfig{Until: until}, "worker is not given"},
		{"no window", GeneratorConfig{Worker: &worker}, "until is 0: must be given: use package fence, or the layout's HorizonTick"},
		{"both", GeneratorConfig{Worker: &worker, Until: until}, ""},
	}
	for _, c := range cases {
		g, err := NewGenerator(c.cfg)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (g != nil || err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
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
// with an open window unless cfg sets others.
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
	if cfg.Layout.IsZero() {
		cfg.Layout = DefaultLayout()
	}
	cfg.Until = cmp.Or(cfg.Until, cfg.Layout.HorizonTick())
	g, err := NewGenerator(cfg)
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
		g, err := NewGenerator(GeneratorConfig{Layout: l, Worker: new(int64), Until: l.HorizonTick()})
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
		g, err := NewGenerator(GeneratorConfig{Layout: l, Worker: new(int64), Until: l.HorizonTick()})
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
	g, err := NewGenerator(GeneratorConfig{Layout: l, Worker: new(int64), Until: l.HorizonTick()})
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
