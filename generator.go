package snowfence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// sealed is the top bit of a generator's state word. A word that carries it
// lies above every bound, so nothing can be reserved from it.
const sealed = 1 << 63

// addBits is how many bits of sequence a layout needs for the lane; see there.
const addBits = 8

// The lane is closed, or open for Next, or for NextWide; a layout has use for one of the two.
const (
	closedLane uint32 = iota
	narrowLane
	wideLane
)

// GeneratorConfig sets what a [Generator] may issue.
type GeneratorConfig struct {
	// Layout is the layout of the ids. The zero value means [DefaultLayout].
	Layout Layout
	// Worker is the worker number that every id carries: the datacenter id times 2 to the number of
	// worker bits, plus the worker id. The order of the fields does not matter. Two generators with
	// a worker number and ticks in common issue the same ids; package fence hands out numbers and
	// ticks so that this never happens. Worker must be given. Nil is refused, because zero is a
	// number like any other and no default.
	Worker *int64
	// Floor is the first tick that may be stamped. Zero means the epoch.
	Floor Tick
	// Until is the exclusive upper bound of the ticks that may be stamped; see [Generator.Extend].
	// Zero is refused. A generator that nothing fences has [Layout.HorizonTick].
	Until Tick
	// Expires is the instant on the monotonic clock from which on nothing is issued, whatever Until is;
	// see [Generator.ExtendWithin]. Zero means the end of time. With it
	// a policy with WallEveryCall is refused.
	Expires time.Duration
	// Policy decides what happens when time and demand do not agree. The zero
	// value is the default policy.
	Policy Policy
	// Clock is the source of time. Nil means [SystemClock].
	Clock Clock
	// Rand returns uniform random bits for the start of a sequence; it must be
	// safe for concurrent use. Nil means math/rand/v2's Uint64: unpredictable
	// enough to spread ids over shards, not a secret.
	Rand func() uint64
}

// Generator issues the ids of one worker number in one window of ticks. Every
// id it returns is greater than all that it returned before, and its tick lies
// in [Floor, Until). It is safe for concurrent use by any number of
// goroutines: a call that need not wait takes no lock and allocates nothing.
//
// Use [Generator.Next] for one id and [Generator.Fill] for many: a batch
// reserves its ids in bulk and reads the clock once.
//
// # The state word
//
// All that is reserved stands in one word: the next free slot, a slot being a
// tick and a sequence side by side.
//
//	 63   62 ......................... s   s-1 ........... 0
//	+---+---------------------------------+----------------+
//	| x |              tick               |    sequence    |
//	+---+---------------------------------+----------------+
//	  sealed                               s = sequence bits
//
// The word only grows. A caller moves it from one value to a greater one by a single atomic
// operation, and the slots in between are its own: so no slot is handed out twice, and slots come
// in increasing order. A sequence that overflows carries into the tick by itself. Nothing may be
// taken at or beyond a bound, the smaller of two: the gate, which closes the window, and the first
// slot that lies further than MaxBurst ahead of now. The window only grows, so a gate that was read
// before the operation, if it was open, was no later than what the store has acknowledged, and
// still is after it.
//
// # The lane
//
// To look at the word and then to change it moves it between processors twice. While the lane is
// open a call for one id just adds one and looks at what it got. Slots that it can't use are given
// up: one of a tick that has passed costs nothing, and one at the bound closes the lane, so that
// those are never more than the callers that raced for it. Where a tick has few slots, or a start
// rule minds each of them, the lane stays closed.
type Generator struct {
	clock     Clock
	system    *systemClock // the clock if it is the machine's: Next reads it without a call through the interface
	layout    Layout
	rand      func() uint64
	prefix    ID         // worker and datacenter, in place
	wide      *wideShape // nil if the layout is not wide; if it is, an ID is a slot
	unit      uint64     // nanoseconds a tick
	inverse   uint64     // 2^64/unit rounded up, or 0 where that is not exact
	burst     uint64     // whole ticks
	ahead     uint64     // slots from a tick's first to the first beyond the burst
	mask      uint64     // of the sequence in a slot
	quarter   uint64     // mask of the sequence's lowest quarter
	horizon   Tick
	floor     Tick
	origin    uint64 // state word before anything was reserved
	seqBits   uint8
	seqShift  uint8
	timeShift uint8
	policy    Policy // with its defaults
	adds      bool   // whether the lane may be opened

	// Every call reads these and few change them. They have a cache line of their
	// own, apart from the word, which every call changes.
	anchor atomic.Pointer[anchor]
	gate   atomic.Uint64 // first slot beyond the window; 0 while callers must queue
	lane   atomic.Uint32 // which call takes slots without looking first; closedLane for none

	_     [64]byte
	state word // the next free slot
	_     [64]byte

	vibrate atomic.Uint64 // ticks begun under StartVibration

	mu       sync.Mutex // guards the fields below, and every write to anchor and gate
	until    Tick
	expires  time.Duration // 0 for never
	queue    queue
	waits    uint64
	anchors  uint64
	revoked  error // nil while ids may be issued
	reserved Tick  // the first result of Revoke
	lost     chan struct{}
	lostNow  bool
}

// word is the state word. Calls take slots with the atomic's own methods. The two other steps are
// here, so that a test can let calls come in just before one of them. A test sets meanwhile; it is
// nil otherwise. A race of real calls hits the same few nanoseconds by luck alone.
type word struct {
	atomic.Uint64
	meanwhile func()
}

// Or is the seal's step.
func (w *word) Or(mask uint64) (old uint64) {
	w.others()
	return w.Uint64.Or(mask)
}

// Store is for the constructor alone: it loses every slot that was taken since the word was read.
func (w *word) Store(value uint64) {
	w.others()
	w.Uint64.Store(value)
}

func (w *word) others() {
	if w.meanwhile != nil {
		w.meanwhile()
	}
}

// NewGenerator returns a generator anchored at the later of the wall clock and the floor. An error
// is returned for an invalid layout or policy, for a worker number that is missing or does not fit
// the layout, and for a window that is empty, has no end or reaches beyond the horizon.
//
// Most programs should use package fence, which claims worker numbers and windows for them.
func NewGenerator(cfg GeneratorConfig) (*Generator, error) {
	if cfg.Layout.IsZero() {
		cfg.Layout = DefaultLayout()
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	l := cfg.Layout
	datacenter, worker, err := l.SplitWorker(*cfg.Worker)
	if err != nil {
		return nil, err
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Uint64 //nolint:forbidigo // what nil means
	}
	policy := cfg.Policy.WithDefaults(l)
	sequenceBits := l.Bits(Sequence)
	burst := min(uint64(policy.MaxBurst/l.Unit), uint64(l.HorizonTick())/2)
	rule := policy.Start.Rule
	adds := sequenceBits >= addBits && rule != StartRandom && rule != StartCarry && !policy.WallEveryCall && inverse(uint64(l.Unit)) != 0
	g := &Generator{
		clock:     cmp.Or(cfg.Clock, SystemClock()),
		layout:    l,
		rand:      cfg.Rand,
		unit:      uint64(l.Unit),
		inverse:   inverse(uint64(l.Unit)),
		burst:     burst,
		ahead:     (burst + 1) << sequenceBits,
		mask:      1<<sequenceBits - 1,
		quarter:   1<<max(sequenceBits-2, 0) - 1,
		horizon:   l.HorizonTick(),
		floor:     cfg.Floor,
		seqBits:   uint8(sequenceBits),
		seqShift:  uint8(l.Shift(Sequence)),
		timeShift: uint8(l.Shift(Time)),
		policy:    policy,
		adds:      adds,
		until:     cfg.Until,
		expires:   cfg.Expires,
		lost:      make(chan struct{}),
	}
	g.system, _ = g.clock.(*systemClock)
	if prefix := (Parts{Datacenter: datacenter, Worker: worker}); l.Wide {
		g.wide = newWideShape(l, prefix)
		g.seqShift, g.timeShift = 0, g.seqBits
	} else {
		g.prefix = l.joinID(prefix)
	}
	g.origin = uint64(cfg.Floor) << sequenceBits
	if policy.Start.Rule == StartQuarter {
		g.origin |= g.rand() & g.quarter
	}
	g.state.Store(g.origin)
	g.mu.Lock()
	g.drop()
	g.reopen()
	g.mu.Unlock()
	return g, nil
}

// validate is for a layout that is given.
func (cfg GeneratorConfig) validate() error {
	l := cfg.Layout
	if err := l.Validate(); err != nil {
		return err
	}
	if err := cfg.Policy.Validate(l); err != nil {
		return err
	}
	switch {
	case cfg.Worker == nil:
		return fmt.Errorf("snowfence: generator: worker is not given: must be a number from 0 to %d that no other generator uses", l.Workers()-1)
	case cfg.Until == 0:
		return errors.New("snowfence: generator: until is 0: must be given: use package fence, or the layout's HorizonTick for a generator that nothing fences")
	case cfg.Floor < 0:
		return fmt.Errorf("snowfence: generator: floor is %d: must not be before the epoch", cfg.Floor)
	case cfg.Until > l.HorizonTick():
		return fmt.Errorf("snowfence: generator: until is %d: must be at most the horizon, %d", cfg.Until, l.HorizonTick())
	case cfg.Expires != 0 && cfg.Policy.WallEveryCall:
		return errors.New("snowfence: generator: wall-every-call is true: must be off where a generator expires by the monotonic clock")
	case cfg.Until <= cfg.Floor:
		return fmt.Errorf("snowfence: generator: until is %d: must be above the floor, %d", cfg.Until, cfg.Floor)
	}
	return nil
}

// Next returns the next id. It returns at once while the layout has numbers left. Otherwise
// it waits for a tick or for the clock, for at most MaxWait. Only a call that has to wait
// looks at ctx.
//
// A *[WaitError] is returned at once when the wait would be longer. [ErrWindowEnded],
// [ErrPastHorizon] or [ErrBeforeEpoch] is returned when the time is outside the ticks that
// may be stamped. After [Generator.Revoke] the error wraps [ErrRevoked] and the cause. The
// context's error is returned when it ended the wait. A call with an error has left the ticks unused. A
// *[LayoutError] is returned when the layout is wide; see [Generator.NextWide].
func (g *Generator) Next(ctx context.Context) (ID, error) { return g.next(ctx, narrowLane) }

// next is Next for the caller of a lane.
//
// The lane is now and reserve, written out: calls of them would cost as much as all the rest
// but the clock. The gate is read before the add, so that it is no later than the store has
// acknowledged, and the anchor before the clock. The present tick is computed after the add. It
// depends on the clock alone, and the processor does both at once: an atomic operation
// waits for the steps before it.
func (g *Generator) next(ctx context.Context, lane uint32) (ID, error) {
	if g.lane.Load() != lane {
		return g.nextSlowly(ctx, lane)
	}
	a, gate := g.anchor.Load(), g.gate.Load()
	elapsed := -a.monotonic
	if g.system != nil {
		elapsed += g.system.Monotonic()
	} else {
		elapsed += g.clock.Monotonic()
	}
	if uint64(elapsed) >= uint64(a.lasts) {
		return g.nextSlowly(ctx, lane)
	}
	slot := g.state.Add(1) - 1
	ticks, _ := bits.Mul64(uint64(a.rest+elapsed>>(a.pace&63)), g.inverse)
	first := (a.tick + ticks) << (g.seqBits & 63)
	if slot-first < g.ahead && slot < gate { // a slot below first wraps around
		return g.compose(slot), nil
	}
	if slot >= min(gate, first+g.ahead) {
		g.lane.Store(closedLane)
	}
	return g.nextSlowly(ctx, lane)
}

// nextSlowly returns the next id in every case. It opens the lane again when it finds one
// without a wait.
func (g *Generator) nextSlowly(ctx context.Context, lane uint32) (ID, error) {
	if err := g.refuseLane(lane); err != nil {
		return 0, err
	}
	if slot, ok := g.reserve(1); ok {
		if g.adds && g.lane.Load() == closedLane {
			g.lane.Store(lane)
		}
		return g.compose(slot), nil
	}
	var one [1]ID
	err := g.acquire(ctx, g.policy.MaxWait, one[:])
	return one[0], err
}

// refuseLane returns the error of a call whose ids are of another width than the layout's.
func (g *Generator) refuseLane(lane uint32) error {
	switch {
	case lane == wideLane && g.wide == nil:
		return g.layout.needWide()
	case lane == narrowLane && g.wide != nil:
		return g.layout.validateNarrow()
	}
	return nil
}

// Fill fills ids, in increasing order. It reserves in bulk as many as fit, repeatedly, and waits in
// between, for at most MaxWait in all. It returns the same errors as [Generator.Next]. When it
// fails, no id of the batch may be used: ids already reserved stay unissued.
//
// A batch that needs longer than MaxWait is refused before anything is reserved, if that can
// be computed. It can't when the batch has to wait for an extension of the window, nor under
// [StartRandom], whose ticks hold fewer ids than their sequence has room for. Calls are
// served in their order, so a long batch holds up those behind it.
func (g *Generator) Fill(ctx context.Context, ids []ID) error {
	return g.FillWithin(ctx, g.policy.MaxWait, ids)
}

// FillWithin is [Generator.Fill] with a limit of its own in place of MaxWait. With a limit of
// zero it does not wait.
func (g *Generator) FillWithin(ctx context.Context, limit time.Duration, ids []ID) error {
	if err := g.refuseLane(narrowLane); err != nil {
		return err
	}
	if len(ids) == 0 {
		return nil
	}
	if slot, ok := g.reserve(uint64(len(ids))); ok {
		g.write(ids, slot)
		return nil
	}
	return g.acquire(ctx, limit, ids)
}

// reserve takes n slots in a row, if there are as many now.
func (g *Generator) reserve(n uint64) (slot uint64, ok bool) {
	now, ok := g.now()
	for ok {
		old := g.state.Load()
		if slot = old; old < now<<(g.seqBits&63) || g.policy.Start.Rule == StartRandom {
			slot = g.enter(old, now)
		}
		if bound := min(g.gate.Load(), now<<(g.seqBits&63)+g.ahead); slot >= bound || bound-slot < n || n > g.run(slot) {
			break
		}
		if g.move(old, slot+n, now) {
			return slot, true
		}
	}
	return 0, false
}

// move moves the word from old to next for a caller at the tick now, and reports whether it
// did. Only the caller that began an idle tick moves the vibration on, so that it goes by
// ones however many try.
func (g *Generator) move(old, next, now uint64) bool {
	if !g.state.CompareAndSwap(old, next) {
		return false
	}
	if g.policy.Start.Rule == StartVibration && old < now<<g.seqBits {
		g.vibrate.Add(1)
	}
	return true
}

// compose makes the id of a slot. No part needs a mask: a slot below the bound holds a tick below
// the horizon. (The shifts are below 64 anyway; the &63 spares the processor the check.)
func (g *Generator) compose(slot uint64) ID {
	return ID(slot>>(g.seqBits&63)<<(g.timeShift&63)|(slot&g.mask)<<(g.seqShift&63)) | g.prefix
}

// write makes the ids of the slots from slot on. Within a tick ids differ by the sequence alone,
// so each is the last plus one step. Eight are written at a time: four take a quarter longer.
func (g *Generator) write(ids []ID, slot uint64) {
	step := ID(1) << (g.seqShift & 63)
	for len(ids) > 0 {
		n := min(uint64(len(ids)), g.mask+1-slot&g.mask)
		id, rest := g.compose(slot), ids[:n]
		for ; len(rest) >= 8; rest = rest[8:] {
			eight := (*[8]ID)(rest)
			eight[0], eight[1], eight[2], eight[3] = id, id+step, id+2*step, id+3*step
			id += 4 * step
			eight[4], eight[5], eight[6], eight[7] = id, id+step, id+2*step, id+3*step
			id += 4 * step
		}
		for i := range rest {
			rest[i] = id + ID(i)*step
		}
		ids, slot = ids[n:], slot+n
	}
}

// Extend moves the end of the window to until. Call it only after the store has acknowledged
// that bound. An error is returned, and nothing changes, when until lies before the present
// end or beyond the horizon. After [Generator.Revoke] the error wraps [ErrRevoked].
func (g *Generator) Extend(until Tick) error { return g.ExtendWithin(until, 0) }

// ExtendWithin is [Generator.Extend] with an instant on the monotonic clock from which on nothing is
// issued. It is for generators whose successor may begin by then, whatever the wall clocks show. Zero
// leaves the instant as it is; it never moves back. A call that began before the instant may return its
// id after it.
func (g *Generator) ExtendWithin(until Tick, expires time.Duration) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.revoked != nil:
		return g.revoked
	case until < g.until:
		return fmt.Errorf("snowfence: extend: until is %d: must be at least the present %d", until, g.until)
	case until > g.horizon:
		return fmt.Errorf("snowfence: extend: until is %d: must be at most the horizon, %d", until, g.horizon)
	}
	g.until, g.expires = until, max(g.expires, expires)
	g.serve()
	return nil
}

// Revoke ends the generator for good. Every later call, and every waiting call, fails with an
// error that wraps [ErrRevoked] and cause. Revoke returns the first tick above every reserved
// one, or the floor if none was. No id that the generator returned, or still returns, has
// that tick or a later one. Only the first call takes effect; later ones return the same.
func (g *Generator) Revoke(cause error) Tick {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seal(cause)
	g.serve()
	return g.reserved
}

// seal needs g.mu, and serve after it. It is one atomic step on the state word. So each
// reservation comes either before it, and is counted, or after it, and fails.
func (g *Generator) seal(cause error) {
	if g.revoked != nil {
		return
	}
	if cause == nil {
		g.revoked = ErrRevoked
	} else {
		g.revoked = fmt.Errorf("%w: %w", ErrRevoked, cause)
	}
	next := g.state.Or(sealed)
	g.reserved = g.above(next)
}

// above returns the first tick above all that were reserved when the word was
// next: the floor if nothing was. Slots that were given up at the bound may
// lie beyond the window; none of them became an id. It needs g.mu.
func (g *Generator) above(next uint64) Tick {
	if next == g.origin {
		return g.floor
	}
	return min(Tick((next-1)>>g.seqBits)+1, g.until)
}

// span returns the length of ticks, or the longest duration if it is longer.
func (g *Generator) span(ticks Tick) time.Duration {
	high, low := bits.Mul64(uint64(ticks), g.unit)
	if high != 0 || low > 1<<63-1 {
		return 1<<63 - 1
	}
	return time.Duration(low)
}
