package counters

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/countertest"
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
	for i, v := 0, reflect.ValueOf(total); *seeds >= 100 && i < v.NumField(); i++ {
		if v.Field(i).Int() == 0 {
			t.Errorf("no schedule has %s: %+v", v.Type().Field(i).Name, total)
		}
	}
}

// tally counts the events.
type tally struct {
	Segments, Tickets, Dailies                     int // numbers that callers got
	Refused, Crashes, Ends, Failovers, Lost, Steps int
	Left                                           int // calls whose callers went away
	Full                                           int // calls that met a limit
	Sets, Unset                                    int // an operator's writes that succeeded, and that did not
	Restores, Backwards                            int // of a store with a guard, and calls that the guard refused
}

func (a tally) plus(b tally) tally {
	sum := reflect.ValueOf(&a).Elem()
	for i := range sum.NumField() {
		sum.Field(i).SetInt(sum.Field(i).Int() + reflect.ValueOf(b).Field(i).Int())
	}
	return a
}

// world is one schedule under way.
type world struct {
	t      *testing.T
	seed   uint64
	rng    *rand.Rand // of the draws before the processes run, and of the operator
	memory *memstore.Memory
	marks  *memstore.Memory // of the guard; nil without one
	loss   time.Duration
	zone   *time.Location
	rates  faultstore.Rates
	kind   int
	apart  int64         // the increment
	swing  time.Duration // of the clocks
	begun  time.Time
	over   atomic.Bool

	mu    sync.Mutex
	tally tally
	drawn []countertest.Drawn
	texts []string
	least map[string]int64 // by date: the last setting that restores have left alone
	past  int              // restores
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
	w := &world{t: t, seed: seed, rng: rng, kind: rng.IntN(kinds), begun: time.Now(), apart: 1 + rng.Int64N(3), swing: time.Duration(1+rng.IntN(40)) * 24 * time.Hour, least: map[string]int64{}}
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
			Again: chance(0.2), Delay: chance(1), MaxDelay: time.Duration(rng.IntN(2000)) * time.Millisecond,
		}
	}
	w.memory = memstore.NewWith(memstore.Config{Loss: w.loss})
	backup := w.memory.Snapshot()
	if w.kind != daily && rng.IntN(2) == 0 {
		w.marks = memstore.New()
	}
	var hosts sync.WaitGroup
	if rng.IntN(3) > 0 {
		source := rand.New(rand.NewPCG(seed, 99))
		hosts.Go(func() { w.operate(source) })
	}
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
			w.count(func(t *tally) { t.Failovers, t.Lost = t.Failovers+1, t.Lost+lost })
		}
		switch {
		case w.marks == nil || rng.IntN(4) > 0:
		case rng.IntN(2) == 0:
			backup = w.memory.Snapshot()
		default:
			w.restore(backup)
		}
	}
	w.over.Store(true)
	hosts.Wait()
	w.judge()
	return w.tally
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
		w.process(rng, clock, faulty, time.Duration(rng.Int64N(int64(span/2))))
		// Late requests arrive after the process has ended.
		_ = faulty.Deliver(context.Background())
		pass(time.Duration(rng.IntN(1000)) * time.Millisecond)
	}
}

// mint is one kind's way to a number or a text.
type mint func(context.Context, int) ([]int64, []string, error)

// process opens a counter, draws from it for a while, and crashes or ends.
func (w *world) process(rng *rand.Rand, clock *hostClock, s *faultstore.Store, life time.Duration) {
	ctx, crash := context.WithCancel(context.Background())
	defer crash()
	config := counter.Config{
		Store: s, Name: name, Clock: clock, Start: 1, Increment: w.apart,
		Rand: rand.NewChaCha8(seeded(rng)), MaxWait: time.Duration(1+rng.IntN(10)) * time.Second, RequestTimeout: time.Duration(200+rng.IntN(2000)) * time.Millisecond,
	}
	if rng.IntN(8) == 0 {
		config.Limit = 1 + rng.Int64N(2000)
	}
	var guards *faultstore.Store
	if w.marks != nil {
		guards = faultstore.New(w.marks.Client(), faultstore.Seeded(rng.Uint64(), w.rates), nil)
		guard, err := counter.OpenStoreGuard(ctx, guards, "default", name)
		if err != nil {
			w.count(func(t *tally) { t.Refused++ })
			return
		}
		config.Guard = guard
	}
	opening, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	set := w.wereSet()
	next, end, err := w.open(opening, config, 1+rng.Int64N(20))
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
				w.draw(ctx, source, clock, next, set, &dead)
				pass(time.Duration(source.IntN(1500)) * time.Millisecond)
			}
		})
	}
	for at := time.Now().Add(life); time.Now().Before(at) && !w.over.Load(); {
		pass(time.Duration(rng.IntN(5000)) * time.Millisecond)
		if rng.IntN(2) == 0 {
			_ = s.Deliver(ctx)
		}
		if guards != nil && rng.IntN(2) == 0 {
			_ = guards.Deliver(ctx)
		}
		if rng.IntN(4) == 0 {
			clock.ahead.Store(rng.Int64N(int64(w.swing)) - int64(w.swing/2))
			w.count(func(t *tally) { t.Steps++ })
		}
	}
	if rng.IntN(2) == 0 {
		dead.Store(true)
		crash() // its numbers are lost, and its requests may still arrive
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
func (w *world) draw(ctx context.Context, rng *rand.Rand, clock *hostClock, next mint, set bounds, dead *atomic.Bool) {
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
	w.count(func(t *tally) {
		switch full, back := (*counter.FullError)(nil), (*counter.BackwardsError)(nil); {
		case errors.As(err, &full):
			t.Full++
		case errors.As(err, &back):
			t.Backwards++
		}
	})
	if err != nil || dead.Load() {
		return
	}
	after := clock.Wall()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, number := range numbers {
		w.above(set, "", number)
		w.drawn = append(w.drawn, countertest.Drawn{Number: number, Begun: begun, End: end})
	}
	for _, text := range texts {
		number, err := strconv.ParseInt(text[9:], 10, 64)
		if err != nil {
			w.t.Error(err)
		}
		w.above(set, text[1:9], number)
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
func (w *world) open(ctx context.Context, c counter.Config, step int64) (mint, func(context.Context) error, error) {
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
		s, err := counter.OpenSegments(ctx, counter.SegmentsConfig{Config: c, Step: step, MostStep: 4 * step, Target: 3 * time.Second})
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
		c.Increment, c.Limit = 0, 0
		d, err := counter.OpenDaily(ctx, counter.DailyConfig{Config: c, Prefix: "D", Zone: w.zone, Digits: 9, Step: step})
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context, n int) ([]int64, []string, error) {
			texts, err := d.Fill(ctx, n)
			return nil, texts, err
		}, d.Close, nil
	}
}
