package counters

import (
	"context"
	"errors"
	"flag"

	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/countertest"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

var (
	seeds = flag.Uint64("seeds", 300, "how many schedules are drawn")
	from  = flag.Uint64("from", 0, "the first seed")
)

func TestDrawnSchedulesGiveNoNumberTwice(t *testing.T) {
	total := tally{}
	for seed := *from; seed < *from+*seeds; seed++ {
		var got tally
		synctest.Test(t, func(t *testing.T) { got = run(t, seed) })
		total = total.plus(got)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d schedules: %+v", *seeds, total)
	if *seeds >= 100 && (total.Segments == 0 || total.Tickets == 0 || total.Dailies == 0 || total.Failovers == 0 || total.Crashes == 0 || total.Lost == 0 || total.Left == 0 || total.Backs == 0) {
		t.Errorf("the schedules show too little: %+v", total)
	}
}

// tally counts what happened.
type tally struct {
	Segments, Tickets, Dailies                     int // numbers that callers got
	Refused, Crashes, Ends, Failovers, Lost, Steps int
	Left                                           int // calls whose callers went away
	Backs                                          int // times that an earlier state of the store was restored
}

func (a tally) plus(b tally) tally {
	return tally{
		a.Segments + b.Segments, a.Tickets + b.Tickets, a.Dailies + b.Dailies, a.Refused + b.Refused, a.Crashes + b.Crashes,
		a.Ends + b.Ends, a.Failovers + b.Failovers, a.Lost + b.Lost, a.Steps + b.Steps, a.Left + b.Left, a.Backs + b.Backs,
	}
}

// world is one schedule under way.
type world struct {
	t      *testing.T
	seed   uint64
	rng    *rand.Rand // of what is drawn before the processes run, and of the operator
	memory *memstore.Memory
	marks  *memstore.Memory // of a guard; nil without one
	loss   time.Duration
	zone   *time.Location
	rates  faultstore.Rates
	kind   int
	step   int64
	swing  time.Duration // of the clocks
	begun  time.Time
	over   atomic.Bool

	mu    sync.Mutex
	tally tally
	drawn []countertest.Drawn
	texts []string
}

const (
	segment = iota
	ticket
	daily
	kinds
)

// span is how long a schedule lasts.
const span = time.Minute

func run(t *testing.T, seed uint64) tally {
	rng := rand.New(rand.NewPCG(seed, 12))
	w := &world{t: t, seed: seed, rng: rng, kind: rng.IntN(kinds), begun: time.Now(), step: 1 + rng.Int64N(20), swing: time.Duration(1+rng.IntN(40)) * 24 * time.Hour}
	if w.kind != ticket && rng.IntN(3) > 0 {
		w.loss = time.Duration(1+rng.IntN(3000)) * time.Millisecond
	}
	zone, err := time.LoadLocation([]string{"UTC", "Asia/Shanghai", "America/New_York"}[rng.IntN(3)])
	if err != nil {
		t.Fatal(err)
	}
	w.zone = zone
	if rng.IntN(5) > 0 {
		chance := func(most float64) float64 { return rng.Float64() * most }
		w.rates = faultstore.Rates{
			Before: chance(0.1), Late: chance(0.1), Stale: chance(0.3), LostReply: chance(0.2),
			Delay: chance(1), MaxDelay: time.Duration(rng.IntN(2000)) * time.Millisecond,
		}
	}
	w.memory = memstore.NewWith(memstore.Config{Loss: w.loss})
	if w.kind != daily && seed%2 == 1 {
		w.marks = memstore.New()
	}
	earlier := w.memory.Snapshot()
	var hosts sync.WaitGroup
	for i := range 2 + rng.IntN(3) {
		source := rand.New(rand.NewPCG(seed, 100+uint64(i)))
		hosts.Go(func() { w.host(source) })
	}
	for !w.over.Load() && time.Since(w.begun) < span {
		pass(time.Duration(rng.IntN(8000)) * time.Millisecond)
		if w.loss > 0 && rng.IntN(2) == 0 {
			lost, err := w.memory.Failover(time.Duration(rng.Int64N(int64(w.loss))))
			if err != nil {
				t.Error(err)
			}
			w.tally.Failovers++
			w.tally.Lost += lost
		}
		if w.marks == nil {
			continue
		}
		if rng.IntN(3) == 0 {
			w.memory.Restore(earlier)
			w.count(func(t *tally) { t.Backs++ })
			pass(time.Duration(rng.IntN(2000)) * time.Millisecond)
			w.set()
		}
		if rng.IntN(2) == 0 {
			earlier = w.memory.Snapshot()
		}
	}
	w.over.Store(true)
	hosts.Wait()
	w.judge()
	return w.tally
}

// set is what an operator does when a dump was restored: the counter goes above its guard's mark.
func (w *world) set() {
	ctx := context.Background()
	guard, err := counter.OpenStoreGuard(ctx, w.marks.Client(), "default", "drawn")
	if err != nil {
		w.t.Error(err)
		return
	}
	mark, err := guard.Mark(ctx)
	if err != nil {
		w.t.Error(err)
	}
	s := w.memory.Client()
	info, err := counter.Show(ctx, s, "default", "drawn")
	if err != nil {
		return // there is none yet
	}
	if raised, err := info.Raised("", max(info.Lanes[0].Next, mark+1)); err != nil {
		w.t.Error(err)
	} else if _, err := counter.Set(ctx, s, raised, counter.Process{}, time.Now()); err != nil && !errors.Is(err, store.ErrConflict) {
		w.t.Error(err)
	}
}

// pass lets virtual time pass.
func pass(d time.Duration) {
	expired, _ := snowfence.SystemClock().After(d)
	<-expired
}

// judge checks the rules.
func (w *world) judge() {
	numbers := make([]int64, len(w.drawn))
	for i, d := range w.drawn {
		numbers[i] = d.Number
	}
	if err := errors.Join(countertest.Distinct(numbers), countertest.Distinct(w.texts)); err != nil {
		w.t.Errorf("seed %d: %v", w.seed, err)
	}
	if w.kind == ticket {
		if err := countertest.Order(w.drawn); err != nil {
			w.t.Errorf("seed %d: %v", w.seed, err)
		}
	}
}

// hostClock is a host's clock, which steps.
type hostClock struct {
	snowfence.Clock
	ahead atomic.Int64
}

func (c *hostClock) Wall() time.Time { return c.Clock.Wall().Add(time.Duration(c.ahead.Load())) }

// host runs one process after another.
func (w *world) host(rng *rand.Rand) {
	clock := &hostClock{Clock: snowfence.SystemClock()}
	for !w.over.Load() {
		faulty := faultstore.New(w.memory.Client(), faultstore.Seeded(rng.Uint64(), w.rates), nil)
		life := time.Duration(rng.Int64N(int64(span / 2)))
		w.process(rng, clock, faulty, life)
		// What was late arrives after the process has ended.
		_ = faulty.Deliver(context.Background())
		pass(time.Duration(rng.IntN(1000)) * time.Millisecond)
	}
}

// mint is one kind's way to a number or a text.
type mint func(context.Context, int) ([]int64, []string, error)

// process opens a counter, draws from it for a while, and crashes or ends.
func (w *world) process(rng *rand.Rand, clock *hostClock, s store.Store, life time.Duration) {
	ctx, crash := context.WithCancel(context.Background())
	defer crash()
	config := counter.Config{
		Store: s, Name: "drawn", Clock: clock, Start: 1, Increment: 1 + w.step%3,
		Rand: rand.NewChaCha8(seeded(rng)), MaxWait: time.Duration(1+rng.IntN(10)) * time.Second, RequestTimeout: time.Duration(200+rng.IntN(2000)) * time.Millisecond,
	}
	opening, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if w.marks != nil {
		link := faultstore.New(w.marks.Client(), faultstore.Seeded(rng.Uint64(), w.rates), nil)
		guard, err := counter.OpenStoreGuard(opening, link, "default", "drawn")
		if err != nil {
			w.count(func(t *tally) { t.Refused++ })
			return
		}
		config.Guard = guard
		defer link.Deliver(context.Background()) //nolint:errcheck // what was late arrives after the process has ended
	}
	next, end, err := w.open(opening, config)
	if err != nil {
		w.count(func(t *tally) { t.Refused++ })
		return
	}
	var callers sync.WaitGroup
	var dead atomic.Bool
	for range 1 + rng.IntN(4) {
		source := rand.New(rand.NewPCG(rng.Uint64(), 1))
		callers.Go(func() {
			for !dead.Load() {
				w.draw(ctx, source, clock, next, &dead)
				pass(time.Duration(source.IntN(1500)) * time.Millisecond)
			}
		})
	}
	for at := time.Now().Add(life); time.Now().Before(at) && !w.over.Load(); {
		pass(time.Duration(rng.IntN(5000)) * time.Millisecond)
		if f, ok := s.(*faultstore.Store); ok && rng.IntN(2) == 0 {
			_ = f.Deliver(ctx)
		}
		if rng.IntN(4) == 0 {
			clock.ahead.Store(rng.Int64N(int64(w.swing)) - int64(w.swing/2))
			w.count(func(t *tally) { t.Steps++ })
		}
	}
	if rng.IntN(2) == 0 {
		dead.Store(true)
		crash() // what it got is lost, and what it sent may still arrive
		_ = end(ctx)
		w.count(func(t *tally) { t.Crashes++ })
	} else {
		ending, cancel := context.WithTimeout(ctx, 10*time.Second)
		_ = end(ending)
		cancel()
		dead.Store(true)
		w.count(func(t *tally) { t.Ends++ })
	}
	callers.Wait()
}

// seeded returns a seed, so that a schedule draws the same pauses again.
func seeded(rng *rand.Rand) (seed [32]byte) {
	for i := range seed {
		seed[i] = byte(rng.Uint32())
	}
	return seed
}

// draw makes one call.
func (w *world) draw(ctx context.Context, rng *rand.Rand, clock *hostClock, next mint, dead *atomic.Bool) {
	n := 1 + rng.IntN(3)*rng.IntN(8)
	if rng.IntN(4) == 0 {
		limited, cancel := context.WithTimeout(ctx, time.Duration(rng.IntN(1000))*time.Millisecond)
		defer cancel()
		ctx = limited
	}
	before := clock.Wall()
	begun := time.Since(w.begun)
	numbers, texts, err := next(ctx, n)
	end := time.Since(w.begun)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && err != nil {
		w.count(func(t *tally) { t.Left++ })
	}
	if err != nil || dead.Load() {
		return
	}
	after := clock.Wall()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, number := range numbers {
		w.drawn = append(w.drawn, countertest.Drawn{Number: number, Begun: begun, End: end})
	}
	for _, text := range texts {
		// A step in between may have been there and back.
		if date := text[1:9]; after.Sub(before) == end-begun && (date < before.In(w.zone).Format("20060102") || date > after.In(w.zone).Format("20060102")) {
			w.t.Errorf("%s was given between %s and %s", text, before.In(w.zone), after.In(w.zone))
		}
	}
	w.texts = append(w.texts, texts...)
	for _, n := range []*int{&w.tally.Segments, &w.tally.Tickets, &w.tally.Dailies}[w.kind : w.kind+1] {
		*n += len(numbers) + len(texts)
	}
}

func (w *world) count(change func(*tally)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.tally)
}

// open opens a counter of the schedule's kind.
func (w *world) open(ctx context.Context, c counter.Config) (mint, func(context.Context) error, error) {
	fill := func(fill func(context.Context, []snowfence.ID) error) mint {
		return func(ctx context.Context, n int) ([]int64, []string, error) {
			ids := make([]snowfence.ID, n)
			err := fill(ctx, ids)
			numbers := make([]int64, n)
			for i, id := range ids {
				numbers[i] = int64(id)
			}
			return numbers, nil, err
		}
	}
	switch w.kind {
	case segment:
		s, err := counter.OpenSegments(ctx, counter.SegmentsConfig{Config: c, Step: w.step, MostStep: 4 * w.step, Target: 3 * time.Second})
		if err != nil {
			return nil, nil, err
		}
		return fill(s.Fill), s.Close, nil
	case ticket:
		tickets, err := counter.OpenTickets(ctx, c)
		if err != nil {
			return nil, nil, err
		}
		return fill(tickets.Fill), tickets.Close, nil
	default:
		c.Increment = 0
		d, err := counter.OpenDaily(ctx, counter.DailyConfig{Config: c, Prefix: "D", Zone: w.zone, Digits: 9, Step: w.step})
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context, n int) ([]int64, []string, error) {
			texts, err := d.Fill(ctx, n)
			return nil, texts, err
		}, d.Close, nil
	}
}
