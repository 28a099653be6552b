//go:build servers

package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter/countertest"
	"snowfence.example/snowfence/internal/testkit"
)

var (
	chaosEngines = flag.String("chaos.engines", "", "engines of the chaos test, separated by commas; empty means all")
	chaosFaults  = flag.Int("chaos.faults", 8, "faults that the chaos test does to each engine")
	chaosIDs     = flag.Int("chaos.ids", 100_000, "ids that the chaos test collects from each engine at the least")
	chaosHosts   = flag.Int("chaos.subjects", 3, "daemons of the chaos test")
	chaosSeed    = flag.Uint64("chaos.seed", 1, "seed by which the chaos test chooses its faults")
)

const (
	chaosWindow = 2 * time.Second
	chaosLoss   = 500 * time.Millisecond // the declaration of lossy engines
)

// chaosLayout has two to four times as many worker ids as there are daemons, so that they go
// from one to another all the time.
func chaosLayout() string {
	return fmt.Sprintf("ms41-worker%d-seq12@2026-01-01T00:00:00Z", bits.Len(uint(*chaosHosts))+1)
}

// Daemons on a real engine give ids, wide ones too, and numbers that the engine counts, while they
// are killed and paused, their clocks are set, and the engine is restarted and cut off. A lossy engine
// fails over too, and loses its last acknowledged writes. No number comes twice, tickets increase, and
// when the faults end all daemons issue again.
func TestChaosNeverRepeatsAnID(t *testing.T) {
	t.Parallel()
	names := chaosNames()
	for name := range strings.SplitSeq(*chaosEngines, ",") {
		if name != "" && !slices.Contains(names, name) {
			t.Fatalf("-chaos.engines has %q: must be of %v", name, names)
		}
	}
	for _, name := range names {
		if *chaosEngines != "" && !slices.Contains(strings.Split(*chaosEngines, ","), name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChaos(t, name)
			c.run()
			c.recover()
			c.gather()
			c.judge()
		})
	}
}

// chaos is one run on one engine.
type chaos struct {
	t        *testing.T
	engine   testkit.Engine
	layout   string
	subjects []*subject
	began    time.Time

	counted map[string]*counted // by generator

	server sync.Mutex    // held by the fault that is done to the engine
	pair   *testkit.Pair // the engine's servers; nil if it is not lossy
	lost   []int         // acknowledged writes that each failover took away
	late   int           // failovers that were called off: the standby would have lacked more than is declared
	mu     sync.Mutex
	counts map[string]int

	faults int
	more   []trouble // beside the faults of daemons and engines

	stop    context.CancelFunc
	running sync.WaitGroup
}

func newChaos(t *testing.T, name string) *chaos {
	c, ctx := beginChaos(t, name, chaosLayout())
	c.counted = newCounted(t, c.engine.Lossy)
	c.serve(ctx, *chaosHosts, countedConfig(c.engine.Lossy))
	for _, s := range c.subjects {
		for generator := range c.counted {
			c.running.Go(func() { c.count(ctx, s, generator) })
		}
	}
	return c
}

// beginChaos starts an engine. The context ends with the run.
func beginChaos(t *testing.T, name, layout string) (*chaos, context.Context) {
	ctx, stop := context.WithCancel(t.Context())
	engine, pair := chaosEngine(t, name)
	c := &chaos{t: t, engine: engine, layout: layout, pair: pair, began: time.Now(), counts: map[string]int{}, faults: *chaosFaults, stop: stop}
	t.Cleanup(func() { stop(); c.running.Wait() })
	return c, ctx
}

// serve starts daemons whose ids are collected, and waits until all give some. The settings are of more generators, or
// more of the first.
func (c *chaos) serve(ctx context.Context, daemons int, settings string) {
	config := written(c.t, fmt.Sprintf("layout: %s\ngenerators:\n  default:\n    window: %s\n%s", c.layout, chaosWindow, settings))
	for number := range daemons {
		s := newSubject(c.t, number, "--config", config, "--data", c.t.TempDir())
		s.use(c.engine, chaosLoss)
		c.subjects = append(c.subjects, s)
		c.running.Go(func() { c.keep(ctx, s) })
		c.running.Go(func() { s.mint(ctx, 3000, 20*time.Millisecond) })
	}
	for _, s := range c.subjects {
		if !s.await(1, testkit.Hang) {
			c.t.Fatalf("subject %d issues nothing:\n%s", s.number, s.log())
		}
	}
}

// keep starts a subject's daemon, and again each time it has ended.
func (c *chaos) keep(ctx context.Context, s *subject) {
	for ctx.Err() == nil {
		d := s.start()
		s.reach(d)
		select {
		case <-d.Ended():
		case <-ctx.Done():
			d.Signal(syscall.SIGCONT)
			d.Kill()
		}
		if log := d.Log(); strings.Contains(log, "panic:") || strings.Contains(log, "fatal error:") {
			c.t.Errorf("subject %d crashed by itself:\n%s", s.number, log)
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// run does the faults, two at a time.
func (c *chaos) run() {
	var left atomic.Int64
	left.Store(int64(c.faults))
	var both sync.WaitGroup
	for lane := range 2 {
		random := rand.New(rand.NewPCG(*chaosSeed, uint64(lane)))
		both.Go(func() {
			var deck []trouble
			if lane == 0 { // the shortest run has a failover too
				deck = c.failing()
			}
			for left.Add(-1) >= 0 {
				if len(deck) == 0 {
					deck = append(c.troubles(), c.more...)
					random.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
				}
				c.strike(deck[0], random)
				deck = deck[1:]
				pause(c.t.Context(), between(random, 0, 500*time.Millisecond))
			}
		})
	}
	both.Wait()
}

// trouble is a fault of a subject or of the engine, from its beginning to its end.
type trouble struct {
	name string
	do   func(*subject, *rand.Rand)
}

// troubles are all that there are, so that a round of them leaves none out.
func (c *chaos) troubles() []trouble {
	var all []trouble
	for name, do := range c.ills() {
		all = append(all, trouble{name, func(s *subject, r *rand.Rand) { do(s, r) }})
	}
	if c.engine.Server != nil {
		all = append(all, []trouble{
			{"server stopped and started", func(_ *subject, r *rand.Rand) { c.restart(false, (*testkit.Server).Stop, r) }},
			{"server killed and started", func(_ *subject, r *rand.Rand) { c.restart(false, (*testkit.Server).Kill, r) }},
			{"partition, connections reset", func(s *subject, r *rand.Rand) { c.disturb(s.proxy, s.proxy.Cut, r) }},
			{"partition, half open", func(s *subject, r *rand.Rand) { c.disturb(s.proxy, s.proxy.Drop, r) }},
			{"replies lost", func(s *subject, r *rand.Rand) { c.disturb(s.proxy, s.proxy.LoseReplies, r) }},
		}...)
	}
	if c.engine.Behind != nil {
		all = append(all, []trouble{
			{"server behind it stopped and started", func(_ *subject, r *rand.Rand) { c.restart(true, (*testkit.Server).Stop, r) }},
			{"server behind it killed and started", func(_ *subject, r *rand.Rand) { c.restart(true, (*testkit.Server).Kill, r) }},
		}...)
	}
	for _, name := range slices.Sorted(maps.Keys(c.engine.Troubles)) {
		all = append(all, trouble{name, func(_ *subject, r *rand.Rand) { c.hinder(c.engine.Troubles[name], r) }})
	}
	all = append(all, c.failing()...)
	slices.SortFunc(all, func(a, b trouble) int { return strings.Compare(a.name, b.name) }) // so that the seed chooses
	return all
}

// victim is a program with a clock that can be set: a daemon, or a borrower.
type victim interface {
	signal(number syscall.Signal)
	setClock(offset time.Duration)
}

// ills are the troubles that each program has.
func (c *chaos) ills() map[string]func(victim, *rand.Rand) {
	wait := func(r *rand.Rand, least, most time.Duration) { pause(c.t.Context(), between(r, least, most)) }
	// A clock is set off by a second to a year, small and large steps being as likely as each other.
	misdate := func(v victim, r *rand.Rand, sign float64) {
		const year = 365 * 24 * time.Hour
		v.setClock(time.Duration(sign * float64(time.Second) * math.Pow(float64(year/time.Second), r.Float64())))
		wait(r, 0, 2*chaosWindow)
		v.setClock(0)
	}
	return map[string]func(victim, *rand.Rand){
		"killed": func(v victim, r *rand.Rand) {
			v.signal(syscall.SIGKILL)
			wait(r, 0, time.Second)
		},
		"paused past the window": func(v victim, r *rand.Rand) {
			v.signal(syscall.SIGSTOP)
			wait(r, chaosWindow, 2*chaosWindow)
			v.signal(syscall.SIGCONT)
		},
		"clock set forward": func(v victim, r *rand.Rand) { misdate(v, r, 1) },
		"clock set back":    func(v victim, r *rand.Rand) { misdate(v, r, -1) },
	}
}

func (c *chaos) strike(f trouble, random *rand.Rand) {
	s := c.subjects[random.IntN(len(c.subjects))]
	s.busy.Lock()
	f.do(s, random)
	s.busy.Unlock()
	c.mu.Lock()
	c.counts[f.name]++
	c.mu.Unlock()
}

// hinder does a fault of this engine alone, while its server runs.
func (c *chaos) hinder(fault func(begin bool), random *rand.Rand) {
	c.server.Lock()
	defer c.server.Unlock()
	fault(true)
	pause(c.t.Context(), between(random, 0, 2*chaosWindow))
	fault(false)
}

func (c *chaos) disturb(proxy *testkit.Proxy, begin func(), random *rand.Rand) {
	begin()
	pause(c.t.Context(), between(random, 0, 2*chaosWindow))
	proxy.Heal()
}

// recover expects every subject to issue again after the end of all faults, and prints after how long.
func (c *chaos) recover() {
	healed := time.Now()
	var before []int64
	for _, s := range c.subjects {
		before = append(before, s.minted.Load())
	}
	for i, s := range c.subjects {
		if !s.await(before[i]+1, testkit.Hang) {
			c.t.Errorf("subject %d issues nothing after the faults:\n%s", i, s.log())
		}
		c.t.Logf("subject %d issues again %s after the last fault", i, time.Since(healed).Round(time.Millisecond))
	}
}

// gather waits until there are as many ids as were asked for, and ends the
// daemons.
func (c *chaos) gather() {
	for _, s := range c.subjects {
		if want := int64(*chaosIDs/len(c.subjects) + 1); !s.await(want, 10*time.Minute) {
			c.t.Errorf("subject %d issued %d ids, want %d:\n%s", s.number, s.minted.Load(), want, s.log())
		}
	}
	c.stop()
	c.running.Wait()
}

// judge looks for duplicates and prints the counts.
func (c *chaos) judge() {
	var ids []snowfence.ID
	for _, s := range c.subjects {
		ids = append(ids, s.ids...)
	}
	c.report()
	c.t.Logf("%s: %s, seed %d: %d ids", c.engine.Name, time.Since(c.began).Round(time.Second), *chaosSeed, len(ids))
	if err := countertest.Distinct(ids); err != nil {
		c.t.Error(err)
	}
	c.judgeCounted()
	c.judgeFailovers()
}

// report prints what the daemons gave, and what befell them.
func (c *chaos) report() {
	for _, s := range c.subjects {
		c.t.Logf("daemon %d: %d ids, started %d times", s.number, len(s.ids), s.starts)
	}
	for _, what := range slices.Sorted(maps.Keys(c.counts)) {
		c.t.Logf("%4d %s", c.counts[what], what)
	}
}
