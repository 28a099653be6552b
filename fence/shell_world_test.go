package fence_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

// world is one bubble: a memory, the machines around it, and a book of what was
// written, told and issued, in which every id is looked up as it is returned.
type world struct {
	plan     plan
	memory   *memstore.Memory
	machines []*machine
	clock    snowfence.Clock
	begun    time.Duration

	quiet atomic.Bool   // the faults have ended
	cut   atomic.Int64  // until when nobody reaches the memory
	calm  chan struct{} // closed when the faults have ended
	over  chan struct{} // closed when everybody is to end
	late  sync.WaitGroup
	turn  atomic.Uint64 // counts moments, to tell what came before what

	mu     sync.Mutex // guards what follows
	terms  map[string]*tenure
	held   map[int64][]*tenure // by worker number
	slots  map[slotKey]slot
	ids    int
	faults map[string]int
	log    []string
	found  []string
	after  int // lines of the log since something was found
}

// tenure is one term, as the book has it.
type tenure struct {
	worker, number int64
	m              *machine
	floor          snowfence.Tick
	until          snowfence.Tick // the highest that the store ever had of it
	final          snowfence.Tick // as it was released; 0 before
	top            snowfence.Tick // above every tick that was stamped

	told    snowfence.Tick           // the highest until that its machine was told of
	usable  snowfence.Tick           // and the highest that is safe from the store's loss
	pending []pledge                 // that are not yet
	sent    map[string]time.Duration // when a write was first sent
}

// pledge is a bound that its machine was told of.
type pledge struct {
	until snowfence.Tick
	at    time.Duration
}

// slotKey is a tick of a worker id, and slot who stamped it with which sequences.
type (
	slotKey struct {
		worker int64
		tick   snowfence.Tick
	}
	slot struct {
		t    *tenure
		p    *process
		used [1 << sequenceBits / 64]uint64
	}
)

// now is the time since the run began, on the bubble's clock.
func (w *world) now() time.Duration { return w.clock.Monotonic() - w.begun }

// say keeps a line for whoever reads of a failure.
func (w *world) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(format, args...)
}

// note needs w.mu.
func (w *world) note(format string, args ...any) {
	if len(w.found) > 0 {
		if w.after++; w.after > loggedAfter {
			return
		}
	}
	if len(w.log) >= 2*logged {
		w.log = append(w.log[:0], w.log[logged:]...)
	}
	w.log = append(w.log, fmt.Sprintf("%12.6fs  ", w.now().Seconds())+fmt.Sprintf(format, args...))
}

// struck counts a fault.
func (w *world) struck(what string, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults[what]++
	w.note(what+": "+format, args...)
}

// breaks notes that a rule was broken.
func (w *world) breaks(rule, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken(rule, format, args...)
}

// broken needs w.mu.
func (w *world) broken(rule, format string, args ...any) {
	text := "rule " + rule + ": " + fmt.Sprintf(format, args...)
	w.note("%s", text)
	if len(w.found) < 5 {
		w.found = append(w.found, fmt.Sprintf("%.6fs  ", w.now().Seconds())+text)
	}
}

// account is what a failure says: all that is known of the run, since the seed
// alone does not replay it to the letter.
func (w *world) account() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := w.log[max(0, len(w.log)-logged):]
	return fmt.Sprintf("%s\nplan: %s\nfaults: %v, ids: %d\nthe last of the log:\n%s\nagain: go test ./fence -run TestShell -count=1 -shell.seed=%d",
		strings.Join(w.found, "\n"), w.plan, w.faults, w.ids, strings.Join(lines, "\n"), w.plan.seed)
}

// wrote enters a write that took effect. It needs w.mu.
func (w *world) wrote(p *process, key string, value []byte) {
	r, ok := register(key, value, w.plan.layout.String())
	if !ok {
		return
	}
	worker, _ := stored.WorkerOf(stored.DefaultNamespace, w.plan.layout, key)
	if r.Holder == "" {
		for _, t := range w.held[worker] {
			if t.number == r.Term && t.m == p.m {
				t.final = r.Until
				if t.top > t.final {
					w.broken("bounded", "%s released worker %d at %d and had stamped up to %d", p, worker, t.final, t.top)
				}
			}
		}
		return
	}
	t := w.terms[r.Holder]
	if t == nil {
		t = &tenure{worker: worker, number: r.Term, m: p.m, floor: r.Floor, sent: make(map[string]time.Duration)}
		w.terms[r.Holder] = t
		w.held[worker] = append(w.held[worker], t)
	}
	if t.m != p.m || t.floor != r.Floor {
		w.broken("bounded", "%s wrote to the term of another: %+v", p, r)
	}
	t.until = max(t.until, r.Until)
}

// sent enters when a process first sent a write.
func (w *world) sent(p *process, key string, value []byte) {
	r, ok := register(key, value, w.plan.layout.String())
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := p.m.sends[r.Write]; !ok {
		p.m.sends[r.Write] = w.now()
	}
}

// told enters what a process is about to hear of its own term: from here on it
// may use that bound, on a lossy store only what this confirms.
func (w *world) told(p *process, key string, value []byte) {
	r, ok := register(key, value, w.plan.layout.String())
	if !ok || r.Holder == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.terms[r.Holder]
	if t == nil || t.m != p.m {
		return
	}
	t.told = max(t.told, r.Until)
	if w.plan.loss == 0 {
		t.usable = t.told
		return
	}
	left := t.pending[:0]
	for _, b := range t.pending {
		if b.at+w.plan.loss <= p.m.sends[r.Write] {
			t.usable = max(t.usable, b.until)
		} else {
			left = append(left, b)
		}
	}
	t.pending = append(left, pledge{r.Until, w.now()})
}

// issued enters ids that a call returned which began at that turn, and checks
// each: that nobody stamped it before, that nobody else stamped its tick, and
// that its tick lies in a term of this process, below what it was told of.
func (w *world) issued(p *process, began uint64, ids []snowfence.ID) *tenure {
	w.mu.Lock()
	defer w.mu.Unlock()
	var t *tenure
	var s slot
	at, last := slotKey{worker: -1}, snowfence.ID(-1)
	for _, id := range ids {
		if id <= last {
			w.broken("order", "%s issued %d after %d in one batch", p, id, last)
		}
		last = id
		key := slotKey{int64(id) >> sequenceBits & (1<<workerBits - 1), snowfence.Tick(id >> (sequenceBits + workerBits))}
		if key != at {
			if at.worker >= 0 {
				w.slots[at] = s
			}
			of := w.stamps(p, key, id)
			switch {
			case of == nil:
				return nil
			case t != nil && t != of:
				w.broken("order", "%s issued a batch of two terms, %d and %d", p, t.number, of.number)
			}
			t = of
			var known bool
			if s, known = w.slots[key]; !known {
				s = slot{t: t, p: p}
			}
			at = key
			if s.t != t || s.p != p {
				w.broken("fenced", "%s stamped tick %d of worker %d in term %d, which %s stamped in term %d", p, key.tick, key.worker, t.number, s.p, s.t.number)
			}
		}
		sequence := id & (1<<sequenceBits - 1)
		bit := uint64(1) << (sequence % 64)
		if s.used[sequence/64]&bit != 0 {
			w.broken("unique", "%s issued %d again, which %s had issued", p, id, s.p)
		}
		s.used[sequence/64] |= bit
	}
	if at.worker >= 0 {
		w.slots[at] = s
	}
	w.ids += len(ids)
	if t != nil {
		if lost, ok := p.losses[t.number<<20|t.worker]; ok && lost < began {
			w.broken("lost", "%s issued %d of term %d of worker %d in a call that began after its loss was told", p, ids[0], t.number, t.worker)
		}
		if p.ended != 0 && p.ended < began {
			w.broken("closed", "%s issued %d in a call that began after Close had returned", p, ids[0])
		}
	}
	return t
}

// stamps returns the term that a tick was stamped in, and checks that it might be.
// It needs w.mu.
func (w *world) stamps(p *process, key slotKey, id snowfence.ID) *tenure {
	t := w.tenure(p, key)
	switch {
	case t == nil:
		w.broken("bounded", "%s issued %d: tick %d of worker %d is in no term of its own", p, id, key.tick, key.worker)
		return nil
	case key.tick >= t.usable:
		w.broken("acknowledged", "%s issued %d: tick %d of worker %d, term %d: it may use %d, was told %d, the store has %d",
			p, id, key.tick, t.worker, t.number, t.usable, t.told, t.until)
	case t.final > 0 && key.tick >= t.final:
		w.broken("bounded", "%s issued %d: tick %d of worker %d, term %d, which was released at %d", p, id, key.tick, t.worker, t.number, t.final)
	}
	t.top = max(t.top, key.tick+1)
	return t
}

// tenure returns the term of p's machine in which that tick lies. It needs w.mu.
func (w *world) tenure(p *process, key slotKey) *tenure {
	var below *tenure
	for i := len(w.held[key.worker]) - 1; i >= 0; i-- {
		t := w.held[key.worker][i]
		if t.m != p.m || key.tick < t.floor {
			continue
		}
		if key.tick < t.until {
			return t
		}
		if below == nil {
			below = t // it is above every bound: say of which
		}
	}
	return below
}

// failover takes from the memory what a replica may lack.
func (w *world) failover(age time.Duration) {
	lost, err := w.memory.Failover(age)
	if err != nil {
		w.breaks("harness", "%v", err)
	}
	w.struck("failover", "%d writes of the last %s are lost", lost, age)
}

// settle ends all faults and sets the clocks right.
func (w *world) settle() {
	w.quiet.Store(true)
	for _, m := range w.machines {
		m.clock.start()
		m.clock.set(0, 0)
		m.disk.set(func(s *sheet) {
			s.fails = false
			if s.hangs != nil {
				close(s.hangs)
				s.hangs = nil
			}
		})
		m.silent.Store(false)
	}
	w.say("the faults have ended, and the clocks are right")
	close(w.calm)
}

// storm makes what befalls all machines at once, for as long as the plan says.
func (w *world) storm(rng *rand.Rand, probe func()) {
	for w.now() < w.plan.length {
		pass(spread(rng, w.plan.window/2))
		switch dice := rng.IntN(20); {
		case dice == 0:
			d := spread(rng, 3*w.plan.window)
			w.cut.Store(int64(w.now() + d))
			w.struck("outage", "nobody reaches the store for %s", d)
		case dice < 4 && w.plan.loss > 0:
			w.failover(spread(rng, w.plan.loss))
		default:
			probe()
		}
	}
}

// spread draws a duration of up to most, short ones as often as long ones.
func spread(rng *rand.Rand, most time.Duration) time.Duration {
	if most <= time.Millisecond {
		return most
	}
	d := most >> rng.IntN(6)
	return max(time.Millisecond, time.Duration(rng.Int64N(int64(d)+1)))
}

// rates draws the faults of one process's store.
func rates(rng *rand.Rand, p plan) faultstore.Rates {
	some := func() float64 { return [...]float64{0, 0.02, 0.1, 0.3}[rng.IntN(4)] * p.rough }
	return faultstore.Rates{Before: some(), LostReply: some(), Stale: some(), Delay: some(), MaxDelay: p.timeout * 2}
}
