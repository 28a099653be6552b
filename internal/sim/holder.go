package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
)

// holder is our allocator: the step function of the lease and its generators,
// and around them what the goroutine of package fence is.
type holder struct {
	site  Site
	state lease.State
	term  *issuer // the present one; nil without a generator
	out   []lease.Request
	queue []lease.Event

	told    lease.ClockLost // what was told of its clock last
	telling bool            // and whether anything was
	open    *lease.Swap     // the last write that was sent
	page    lease.Page      // the last one that the journal was to keep

	resumedAt snowfence.Tick // where the page ended that it began with
}

// Ours returns the program that is to be shown right.
func Ours() Program { return ours(func(*lease.Config) {}) }

func ours(bend func(*lease.Config)) Program {
	return func(s Site) (Allocator, error) {
		p := s.Plan
		config := lease.Config{
			Layout: s.Layout, Window: p.Window, MaxRollback: p.MaxRollback, Loss: p.Loss, EngineClock: p.EngineClock,
			Process: lease.Process{Host: s.Host, PID: s.Process, Started: s.Clock.Wall()},
		}
		if !s.node.server.lossy {
			config.Loss = 0
		}
		if p.Pins > 0 {
			worker := int64(s.Node % p.Pins)
			config.Worker = &worker
		}
		if p.Datacenters > 0 {
			config.Datacenter = &s.Datacenter
		}
		if p.Split {
			config.Datacenters = []int64{s.Datacenter}
		}
		if s.Journal {
			config.JournalAhead = p.ahead()
		}
		bend(&config)
		state, err := lease.New(config)
		if err != nil {
			return nil, err
		}
		return &holder{site: s, state: state}, nil
	}
}

// Step implements [Allocator].
func (h *holder) Step(e lease.Event, now lease.Moment) []lease.Request {
	h.out = nil
	switch e := e.(type) {
	case lease.Started:
		if e.Page != nil {
			h.resumedAt = e.Page.Used
		}
	case lease.Woken, lease.WindowEnded:
		h.watchClock()
	}
	h.queue = append(h.queue, e)
	for first := true; len(h.queue) > 0; first = false {
		if !first {
			now = h.site.Moment()
		}
		e, h.queue = h.queue[0], h.queue[1:]
		h.step(e, now)
	}
	return h.out
}

// Wake implements [Allocator].
func (h *holder) Wake() (time.Duration, bool) { return h.state.Wake() }

// Mint implements [Allocator]. The last slot of a batch is asked for alone, as
// most callers do.
func (h *holder) Mint(ctx context.Context, ids []snowfence.ID) (int, error) {
	term := h.term
	if term == nil {
		return 0, errNoTerm
	}
	var err error
	if len(ids) == 1 {
		ids[0], err = term.generator.Next(ctx)
	} else {
		err = term.generator.Fill(ctx, ids)
	}
	if err != nil {
		return 0, err
	}
	return len(ids), nil
}

// errNoTerm is returned while there is no generator.
var errNoTerm = errors.New("no worker id is held")

func (h *holder) step(e lease.Event, now lease.Moment) {
	if h.term != nil && h.site.Journal {
		now.Stamping = h.term.generator.Status().Now
	}
	if hear := h.site.world.bugs.hear; hear != nil {
		e = hear(h, e)
	}
	before := h.state
	state, requests := before.Step(e, now)
	h.state = state
	if bend := h.site.world.bugs.bend; bend != nil {
		requests = bend(h, before, e, requests)
	}
	for _, request := range requests {
		h.perform(request)
	}
}

// perform carries out what concerns the generator, and passes on the rest.
func (h *holder) perform(request lease.Request) {
	w := h.site.world
	switch r := request.(type) {
	case lease.Start:
		h.start(r)
	case lease.Extend:
		w.tally.Counts[Extensions]++
		if h.term == nil {
			return
		}
		if err := h.term.generator.Extend(r.Until); err != nil && !errors.Is(err, snowfence.ErrRevoked) {
			w.breaks("harness", "%s: extend: %v", h.term.name, err)
		}
	case lease.Revoke:
		h.seal(r.Cause)
	case lease.Drain:
		h.queue = append(h.queue, lease.Drained{Reserved: h.seal(nil)})
	case lease.Swap:
		h.open = &r
		h.out = append(h.out, request)
	case lease.Keep:
		h.page = r.Page
		h.out = append(h.out, request)
	default:
		h.out = append(h.out, request)
	}
}

func (h *holder) seal(cause error) (reserved snowfence.Tick) {
	if h.term != nil {
		reserved = h.term.generator.Revoke(cause)
		h.term.reserved, h.term.sealed = reserved, true
	}
	h.term = nil
	return reserved
}

// start makes the generator of a term.
func (h *holder) start(r lease.Start) {
	w := h.site.world
	w.tally.Counts[Terms]++
	policy := h.site.Plan.policy()
	if w.bugs.policy != nil {
		w.bugs.policy(&policy)
	}
	generator, err := snowfence.NewGenerator(snowfence.GeneratorConfig{
		Layout: h.site.Layout, Worker: &r.Worker, Floor: r.Floor, Until: r.Until, Clock: h.site.Clock,
		Policy: policy, Rand: h.site.Rand.Uint64,
	})
	if err != nil {
		w.breaks("harness", "start: %v", err)
		return
	}
	h.telling = false
	h.term = w.issuerOf(h.site, fmt.Sprintf("%s, process %d, term %d of worker %d", h.site.Host, h.site.Process, r.Term, r.Worker))
	h.term.nonce, h.term.worker, h.term.floor, h.term.generator = h.state.View().Register.Holder, r.Worker, r.Floor, generator
	w.began(h.term)
	if r.Resumed {
		w.resumed(h)
	}
}

// watchClock looks at the clock on behalf of a generator, and tells the state
// what it finds, once.
func (h *holder) watchClock() {
	if h.term == nil {
		return
	}
	h.term.generator.CheckClock()
	status := h.term.generator.Status()
	finding := lease.ClockLost{Stepped: errors.Is(status.Revoked, snowfence.ErrClockStepped)}
	if !status.ClockLost {
		h.telling = false
	} else if !h.telling || h.told != finding {
		h.telling, h.told = true, finding
		h.queue = append(h.queue, finding)
	}
}

// clone copies the process with all that it remembers. Its generator goes on
// from where the other one stands.
func (h *holder) clone(s Site) Allocator {
	twin := *h
	twin.site, twin.out, twin.queue, twin.term = s, nil, nil, nil
	if h.term != nil {
		status := h.term.generator.Status()
		if status.Revoked == nil {
			// Where nothing is left the last tick must do: no generator is empty.
			from := min(max(status.Reserved, status.Now), status.Until-1)
			twin.start(lease.Start{Worker: h.term.worker, Term: h.state.View().Register.Term, Floor: from, Until: status.Until})
			twin.term.name += ", the copy"
			twin.term.nonce, twin.term.floor = h.term.nonce, h.term.floor
		}
	}
	return &twin
}

// ceiling implements cloner: the term's until, or the one that it is about to
// get.
func (h *holder) ceiling() (worker int64, until snowfence.Tick, ok bool) {
	view := h.state.View()
	if view.Register.Holder != "" {
		worker, until, ok = view.Worker, view.Register.Until, true
	}
	for _, w := range h.underWay() {
		if !ok || w.worker == worker {
			worker, until, ok = w.worker, max(until, w.register.Until), true
		}
	}
	return worker, until, ok
}

// nonces implements cloner: the term's, and those of the writes under way.
func (h *holder) nonces() (all []string) {
	if h.term != nil {
		all = append(all, h.term.nonce)
	}
	if nonce := h.state.View().Register.Holder; nonce != "" {
		all = append(all, nonce)
	}
	for _, w := range h.underWay() {
		if w.register.Holder != "" {
			all = append(all, w.register.Holder)
		}
	}
	return all
}

// writing is a register that is to be written.
type writing struct {
	worker   int64
	register lease.Register
}

// underWay returns the write that was sent last, and the one that the journal's
// last page has: it may wait for that page, and then two copies will send it.
func (h *holder) underWay() (all []writing) {
	add := func(worker int64, value []byte) {
		if r, err := lease.DecodeRegister(value); err == nil {
			all = append(all, writing{worker, r})
		}
	}
	if h.open != nil {
		if worker, ok := lease.WorkerOf(lease.DefaultNamespace, h.site.Layout, h.open.Key); ok {
			add(worker, h.open.Value)
		}
	}
	if h.page.Pending != nil {
		add(h.page.Worker, h.page.Pending)
	}
	return all
}

func (h *holder) issuer() *issuer { return h.term }

func (h *holder) holds(incarnation string) bool {
	view := h.state.View()
	known := view.Namespace.Incarnation
	return view.Phase != lease.Failed && (known == "" || known == incarnation)
}

func (h *holder) deadline() (time.Duration, bool) { return h.state.Deadline() }

// heeds as package fence does: of a clock that is behind it need not be told
// twice.
func (h *holder) heeds(err error) bool {
	return !errors.Is(err, snowfence.ErrClockBehind) || !h.telling
}

func (h *holder) extending(r lease.Request) bool {
	swap, ok := r.(lease.Swap)
	if !ok || h.term == nil {
		return false
	}
	register, err := lease.DecodeRegister(swap.Value)
	return err == nil && register.Holder == h.term.nonce
}
