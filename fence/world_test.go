package fence_test

import (
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence/lease"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/memstore"
)

// world is a miniature of everything around the step function: a few
// processes with clocks of their own, one store, and a network between them
// that loses, delays and reorders. It runs in one goroutine on virtual time,
// and its seed decides everything, so what it finds it finds again.
//
// The steps are the real ones, and so are the generators and the store. What
// is checked is what the package promises:
//
//	unique   no two ids are equal
//	fenced   a tick of a worker id is stamped under one term only
//	bounded  a stamped tick lies in its term's interval as the store has it
//	live     when the faults have ended, ids are issued again before long
type world struct {
	plan   plan
	mutant mutant
	rng    *rand.Rand
	now    time.Duration
	agenda agenda
	memory *memstore.Memory
	client store.Store
	tokens *tokens
	away   time.Duration // nobody reaches the store until then
	nodes  []*node
	born   int

	ids    map[snowfence.ID]bool
	stamps map[stamp]*issuer
	bounds map[string]snowfence.Tick // the greatest until stored, by nonce
	terms  map[store.Version]int64   // the term that a register had at each version
	past   map[string][]store.Entry  // what was written at each key and was not taken away
	living map[string]bool           // the hosts that issued since the faults ended
	found  []finding

	tally tally
}

// plan is what a schedule is about.
type plan struct {
	seed   uint64
	nodes  int
	pinned bool
	loss   time.Duration
	engine bool // the store has a clock
	length time.Duration
	quiet  bool // no crashes, pauses, steps, releases or faults
	leaps  bool // clocks step by more than the tolerance, too
	disks  bool // nodes keep journals, and the store is away now and then
	calm   bool // after its length the faults end, and ids must be issued again
}

// finding is a rule that was broken.
type finding struct {
	at   time.Duration
	rule string
	what string
}

// tally shows that a schedule was not empty.
type tally struct {
	ids, terms, extensions, lost, released, unknown, conflicts, crashes, pauses, steps, failovers int

	suspends int // pauses in which the monotonic clock stood still
	late     int // reads that showed what was before
	repeated int // swaps that took effect and met themselves

	// Of journals: pages, terms that went on from one, those of them of which the
	// store said nothing, copies that were found, and what failed.
	kept, resumed, alone, copies, diskFailures, outages, left, powerLosses int
}

func (t *tally) add(o tally) {
	t.ids += o.ids
	t.terms += o.terms
	t.extensions += o.extensions
	t.lost += o.lost
	t.released += o.released
	t.unknown += o.unknown
	t.conflicts += o.conflicts
	t.crashes += o.crashes
	t.pauses += o.pauses
	t.steps += o.steps
	t.failovers += o.failovers
	t.suspends += o.suspends
	t.late += o.late
	t.repeated += o.repeated
	t.kept += o.kept
	t.resumed += o.resumed
	t.alone += o.alone
	t.copies += o.copies
	t.diskFailures += o.diskFailures
	t.outages += o.outages
	t.left += o.left
	t.powerLosses += o.powerLosses
}

// empty returns an error if nothing of some kind happened at all.
func (t *tally) empty() error {
	if slices.Contains([]int{t.ids, t.terms, t.extensions, t.lost, t.released, t.unknown, t.conflicts, t.crashes, t.pauses, t.steps, t.suspends, t.late, t.repeated}, 0) {
		return fmt.Errorf("the schedules are empty: %+v", *t)
	}
	return nil
}

type stamp struct {
	worker int64
	tick   snowfence.Tick
}

// issuer is one generator, and so one term.
type issuer struct {
	name   string
	host   string
	nonce  string
	worker int64
	floor  snowfence.Tick
	gen    *snowfence.Generator
}

const (
	worldWindow   = 300 * time.Millisecond
	worldRollback = 100 * time.Millisecond
	worldTimeout  = 40 * time.Millisecond

	// worldSkew is how far a clock may be off, unless it leaps.
	worldSkew = 300 * time.Millisecond

	// worldSlack is what may pass, besides windows and loss, from the end of the
	// faults to the next id: a process is started again, its claim looks at each
	// worker id and backs off in between, and a released one may have ticks up to
	// max-rollback ahead.
	worldSlack = 300 * time.Millisecond
)

// worldLayout has two workers and four ids a tick, so that what can collide
// does.
func worldLayout() snowfence.Layout {
	l := snowfence.DefaultLayout()
	l.Fields = []snowfence.Field{
		{Kind: snowfence.Time, Bits: 41}, {Kind: snowfence.Worker, Bits: 1}, {Kind: snowfence.Sequence, Bits: 2},
	}
	return l
}

func newWorld(p plan, m mutant) *world {
	w := &world{
		plan: p, mutant: m,
		rng:    rand.New(rand.NewPCG(p.seed, 7)),
		ids:    make(map[snowfence.ID]bool),
		stamps: make(map[stamp]*issuer),
		bounds: make(map[string]snowfence.Tick),
		terms:  make(map[store.Version]int64),
		past:   make(map[string][]store.Entry),
	}
	w.tokens = &tokens{rng: w.rng}
	config := memstore.Config{Rand: w.tokens, Loss: p.loss, Clock: worldClock{w: w}}
	if p.engine {
		config.Now = func() time.Time { return worldClock{w: w}.Wall() }
	}
	w.memory = memstore.NewWith(config)
	w.client = w.memory.Client()
	return w
}

// run lives the schedule and returns what it broke.
func (w *world) run() []finding {
	for i := range w.plan.nodes {
		n := &node{w: w, host: fmt.Sprintf("host-%d", i)}
		n.disk.n = n
		if !w.plan.quiet {
			n.offset = w.spread(30 * time.Millisecond)
		}
		w.nodes = append(w.nodes, n)
		w.after(w.upTo(20*time.Millisecond), n.boot)
		if !w.plan.quiet {
			w.after(w.upTo(400*time.Millisecond), n.trouble)
		}
		if w.plan.disks && !w.plan.quiet {
			w.after(w.upTo(100*time.Millisecond), n.disk.somebodyCopies)
		}
	}
	if w.plan.loss > 0 && !w.plan.quiet {
		w.after(w.upTo(300*time.Millisecond), w.failover)
	}
	if w.plan.disks && !w.plan.quiet {
		w.after(w.upTo(2*worldWindow), w.outOfReach)
	}
	for w.now < w.plan.length && len(w.agenda) > 0 {
		w.proceed()
	}
	if w.plan.calm {
		w.calmDown()
	}
	return w.found
}

// proceed does what is due next.
func (w *world) proceed() {
	next, _ := heap.Pop(&w.agenda).(appointment)
	w.now = max(w.now, next.at)
	next.do()
}

// calmDown ends all faults, sets the clocks right, and checks that ids are
// issued again: by as many nodes as there are worker ids for. One window is for
// what was written last to end, and another for clocks that were ahead by as
// much.
func (w *world) calmDown() {
	w.plan.quiet, w.living, w.away = true, make(map[string]bool), 0
	for _, n := range w.nodes {
		n.offset = 0
	}
	wanted := min(len(w.nodes), int(worldLayout().Workers()))
	if w.plan.pinned {
		wanted = 1
	}
	limit := 2*worldWindow + w.plan.loss + worldSlack
	for begun := w.now; len(w.living) < wanted; w.proceed() {
		if w.now-begun > limit {
			w.breaks("live", "%d nodes issue %s after the faults ended, and %d should", len(w.living), limit, wanted)
			return
		}
	}
}

// failover takes away acknowledged writes, as far as the store declares.
func (w *world) failover() {
	if w.plan.quiet {
		return
	}
	if n, err := w.memory.Failover(w.upTo(w.plan.loss)); err != nil {
		w.breaks("world", "%v", err)
	} else if n > 0 {
		w.tally.failovers++
		// What was taken away no read shows any more, however late.
		for key, past := range w.past {
			version := w.version(key)
			kept := slices.IndexFunc(past, func(e store.Entry) bool { return e.Version == version })
			w.past[key] = past[:kept+1]
		}
	}
	w.after(w.upTo(300*time.Millisecond), w.failover)
}

func (w *world) breaks(rule, format string, args ...any) {
	w.found = append(w.found, finding{at: w.now, rule: rule, what: fmt.Sprintf(format, args...)})
}

// issued checks an id against the rules.
func (w *world) issued(id snowfence.ID, by *issuer) {
	w.tally.ids++
	if w.ids[id] {
		w.breaks("unique", "%s issued %d, which was issued before", by.name, id)
	}
	w.ids[id] = true
	parts, err := worldLayout().Decompose(id)
	if err != nil {
		w.breaks("world", "%v", err)
	}
	at := stamp{parts.Worker, parts.Tick}
	if other := w.stamps[at]; other != nil && other != by {
		w.breaks("fenced", "tick %d of worker %d was stamped by %s and by %s", at.tick, at.worker, other.name, by.name)
	}
	w.stamps[at] = by
	if w.living != nil {
		w.living[by.host] = true
	}
	if until := w.bounds[by.nonce]; parts.Tick < by.floor || parts.Tick >= until {
		w.breaks("bounded", "%s stamped tick %d, and the store has [%d, %d) for it", by.name, at.tick, by.floor, until)
	}
}

// version is the one that a key has now; zero if it has none.
func (w *world) version(key string) store.Version {
	entry, err := w.client.Get(context.Background(), key)
	if err != nil {
		return ""
	}
	return entry.Version
}

func isRegister(key string) bool {
	return strings.HasPrefix(key, lease.RegisterPrefix(lease.DefaultNamespace))
}

// earlier returns what a read that is late shows of a key: what stood there up
// to three writes before, and the zero entry if there was nothing.
func (w *world) earlier(now store.Entry) store.Entry {
	past := w.past[now.Key]
	i := slices.IndexFunc(past, func(e store.Entry) bool { return e.Version == now.Version })
	if i -= w.rng.IntN(4); i < 0 {
		return store.Entry{}
	}
	return past[i]
}

// stored notes the bounds that reach the store.
func (w *world) stored(s lease.Swap, version store.Version) {
	w.past[s.Key] = append(w.past[s.Key], store.Entry{Key: s.Key, Value: s.Value, Version: version})
	if !isRegister(s.Key) {
		return
	}
	r, err := lease.DecodeRegister(s.Value)
	if err != nil {
		w.breaks("world", "%v", err)
		return
	}
	w.terms[version] = r.Term
	if r.Holder != "" {
		w.bounds[r.Holder] = max(w.bounds[r.Holder], r.Until)
	}
}

// swap is the store's Swap as the world's store does it.
func (w *world) swap(s lease.Swap, blind bool) lease.Reply {
	prev := s.Prev
	current := w.version(s.Key)
	if isRegister(s.Key) && (blind || w.mutant.guard != nil && w.mutant.guard(w, current, s)) {
		prev = current
	}
	if w.mutant.versions != nil {
		w.tokens.next = w.mutant.versions(current)
	}
	version, err := w.client.Swap(context.Background(), s.Key, prev, s.Value)
	switch {
	case errors.Is(err, store.ErrConflict):
		w.tally.conflicts++
		return lease.Reply{ID: s.ID, Outcome: lease.Conflict}
	case err != nil:
		return lease.Reply{ID: s.ID, Err: err}
	}
	w.stored(s, version)
	if !w.plan.quiet && w.chance(8) {
		// Something on the way repeated it.
		w.tally.repeated++
		return lease.Reply{ID: s.ID, Outcome: lease.Conflict}
	}
	return lease.Reply{ID: s.ID, Outcome: lease.Swapped, Version: version}
}

// answer carries out a request at the store.
func (w *world) answer(request lease.Request, blind bool) lease.Reply {
	ctx := context.Background()
	switch r := request.(type) {
	case lease.Swap:
		return w.swap(r, blind)
	case lease.Get:
		entry, err := w.client.Get(ctx, r.Key)
		if err != nil {
			return lease.Reply{ID: r.ID, Outcome: lease.Absent}
		}
		if !w.plan.quiet && w.chance(20) {
			now := entry.Version
			if entry = w.earlier(entry); entry.Version != now {
				w.tally.late++
			}
			if entry.Version == "" {
				return lease.Reply{ID: r.ID, Outcome: lease.Absent}
			}
		}
		return lease.Reply{ID: r.ID, Outcome: lease.Found, Entry: entry}
	case lease.List:
		reply := lease.Reply{ID: r.ID, Outcome: lease.Listed}
		for entry, err := range w.client.List(ctx, r.Prefix) {
			if err != nil {
				return lease.Reply{ID: r.ID, Err: err}
			}
			reply.Entries = append(reply.Entries, entry)
		}
		slices.SortFunc(reply.Entries, func(a, b store.Entry) int { return cmp.Compare(a.Key, b.Key) })
		return reply
	case lease.Ask:
		clock, _ := store.ClockOf(w.client)
		now, err := clock.Now(ctx)
		return lease.Reply{ID: r.ID, Outcome: lease.Told, Time: now, Err: err}
	}
	return lease.Reply{}
}

func (w *world) upTo(d time.Duration) time.Duration { return time.Duration(w.rng.Int64N(int64(d) + 1)) }

func (w *world) spread(d time.Duration) time.Duration { return w.upTo(2*d) - d }

func (w *world) chance(percent int) bool { return w.rng.IntN(100) < percent }

// agenda is what is still to happen, soonest first; what is due at the same
// time happens in the order in which it was planned.
type agenda []appointment

type appointment struct {
	at    time.Duration
	order int
	do    func()
}

func (w *world) after(d time.Duration, do func()) {
	w.born++
	heap.Push(&w.agenda, appointment{at: w.now + d, order: w.born, do: do})
}

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(a[i].at, a[j].at), cmp.Compare(a[i].order, a[j].order)) < 0
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(appointment)) }
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

// worldClock is the clock of one node, or of the store when n is nil. A call
// that waits lets the time pass for everybody.
type worldClock struct {
	w *world
	n *node
}

func (c worldClock) Wall() time.Time {
	wall := worldLayout().Epoch.Add(24*time.Hour + c.w.now)
	if c.n != nil {
		wall = wall.Add(c.n.offset)
	}
	return wall
}

func (c worldClock) Monotonic() time.Duration {
	if c.n != nil {
		return c.w.now - c.n.slept
	}
	return c.w.now
}

func (c worldClock) After(d time.Duration) (<-chan time.Time, func() bool) {
	c.w.now += d
	expired := make(chan time.Time, 1)
	expired <- c.Wall()
	return expired, func() bool { return false }
}

// tokens is where the store's versions come from.
type tokens struct {
	rng  *rand.Rand
	next []byte // the next version, if a mutant wants to choose it
}

func (t *tokens) Read(b []byte) (int, error) {
	if t.next != nil {
		copy(b, t.next)
		return len(b), nil
	}
	for i := 0; i < len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], t.rng.Uint64())
	}
	return len(b), nil
}
