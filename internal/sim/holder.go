package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/lease/drive"
	"snowfence.example/snowfence/internal/stored"
)

// holder is our allocator: the driver's shell in virtual time, as package fence is in a running program.
type holder struct {
	site   Site
	driver *drive.Driver
	state  lease.State // after the last step
	term   *issuer     // the present one; nil without a generator
	out    []lease.Request
	supply supply
	intake intake
	open   *lease.Call // the last write that was sent
	page   stored.Page // the last one that the journal was to keep
	sent   recorder    // what goes into a trace

	asked   uint64 // the request to the store whose answer is awaited; 0 for none
	stalled error  // why the last event was not taken; nil if it was
}

// Ours is the program under test: a holder.
func Ours(s Site) (Allocator, error) {
	p := s.Plan
	config := lease.Config{
		Layout: s.Layout, Window: p.Window, MaxRollback: p.MaxRollback, MaxWait: p.MaxWait, RequestTimeout: p.timeout(),
		Loss: p.Loss, EngineClock: p.EngineClock,
		Process: stored.Process{Host: s.Host, PID: s.Process, Started: s.Clock.Wall()},
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
	if bend := s.world.bugs.config; bend != nil {
		bend(&config)
	}
	state, err := lease.New(config)
	if err != nil {
		return nil, err
	}
	h := &holder{site: s}
	h.drive(state)
	return h, nil
}

// drive makes the driver.
func (h *holder) drive(state lease.State) {
	policy := h.site.Plan.policy()
	if bend := h.site.world.bugs.policy; bend != nil {
		bend(&policy)
	}
	h.state = state
	h.driver = drive.New(drive.Config{State: state, Step: h.step, Policy: policy, Clock: h.site.Clock, Rand: h.site.Rand.Uint64}, h)
}

// Step implements [Allocator].
func (h *holder) Step(e lease.Event, _ lease.Moment) []lease.Request {
	h.out = nil
	h.intake.begin(h, e)
	h.stalled = h.driver.Take(e)
	h.intake.end(h, e)
	h.supply.judge(h)
	return h.out
}

// Wake implements [Allocator].
func (h *holder) Wake() (time.Duration, bool) {
	if h.stalled != nil {
		return h.site.Clock.Monotonic() + min(time.Second, h.site.Plan.beat()), true
	}
	return h.driver.Wake()
}

// Mint implements [Allocator]. The last slot of a batch is asked for alone, as most callers do.
func (h *holder) Mint(ctx context.Context, ids []snowfence.ID) (int, error) {
	term := h.term
	if term == nil {
		return 0, errNoTerm
	}
	var err error
	switch {
	case h.site.Layout.Wide:
		err = mintWide(ctx, term, ids)
	case len(ids) == 1:
		ids[0], err = term.generator.Next(ctx)
	default:
		err = term.generator.Fill(ctx, ids)
	}
	if err != nil {
		return 0, err
	}
	return len(ids), nil
}

// mintWide mints wide ids and narrows them to the fields that make them unique.
func mintWide(ctx context.Context, term *issuer, ids []snowfence.ID) (err error) {
	wide, g, l := make([]snowfence.WideID, len(ids)), term.generator, term.ledger
	if len(ids) == 1 {
		wide[0], err = g.NextWide(ctx)
	} else {
		err = g.FillWide(ctx, wide)
	}
	for i := 0; i < len(ids) && err == nil; i++ {
		var p snowfence.Parts
		p, err = l.wide.DecomposeWide(wide[i])
		ids[i] = l.join(p.Datacenter<<l.worker.bits|p.Worker, p.Tick, p.Sequence)
	}
	return err
}

// errNoTerm is returned without a generator.
var errNoTerm = errors.New("no worker id is held")

// step is the step function, with the bugs that a test puts into it.
func (h *holder) step(before lease.State, e lease.Event, now lease.Moment) (lease.State, []lease.Request) {
	w := h.site.world
	h.intake.take(h, e, now)
	arrived := e
	if w.bugs.hear != nil {
		e = w.bugs.hear(h, e)
	}
	var requests []lease.Request
	if reply, ok := e.(lease.Reply); ok && reply.ID == h.asked {
		h.supply.answer = reply.Err
	}
	h.state, requests = before.Step(e, now)
	if w.bugs.bend != nil {
		requests = w.bugs.bend(h, before, e, requests)
	}
	if w.steps != nil {
		h.record(arrived, requests)
	}
	for _, request := range requests {
		if _, ok := request.(lease.Extend); ok {
			w.tally.Counts[Extensions]++
		}
	}
	return h.state, requests
}

// Random implements [drive.Shell].
func (h *holder) Random(b []byte) error {
	if n := h.site.node; n.w.agenda.Now() < n.dry {
		return errNoRandom
	}
	random := h.site.Moment().Random
	copy(b, random[:])
	return nil
}

// errNoRandom keeps the driver from taking an event.
var errNoRandom = errors.New("no random bits")

// Request implements [drive.Shell]: the machine carries it out.
func (h *holder) Request(request lease.Request) {
	switch r := request.(type) {
	case lease.Call:
		h.asked = r.ID
		if r.Verb == lease.Swap {
			h.open = &r
		}
	case lease.Keep:
		h.page = r.Page
		if r.Page.Pending != nil {
			h.asked, h.supply.answer = 0, nil // the extension may wait for the page, and then the store is not asked yet
		}
	}
	h.out = append(h.out, request)
}

// Report implements [drive.Shell].
func (h *holder) Report(r lease.Report) {
	h.supply.reports(h, r)
	h.out = append(h.out, r)
}

// Began implements [drive.Shell].
func (h *holder) Began(g *snowfence.Generator, r lease.Start) {
	w := h.site.world
	w.tally.Counts[Terms]++
	h.term = w.issuerOf(h.site, fmt.Sprintf("%s, process %d, term %d of worker %d", h.site.Host, h.site.Process, r.Term, r.Worker))
	h.term.nonce, h.term.worker, h.term.floor, h.term.generator = h.state.View().Register.Holder, r.Worker, r.Floor, g
	s := h.site.node.server
	h.term.before, s.issuers[h.term.nonce] = s.issuers[h.term.nonce], h.term
	if r.Resumed {
		w.tally.Counts[Resumed]++
		if w.agenda.Now() < s.away {
			w.tally.Counts[Alone]++
		}
	}
}

// Sealed implements [drive.Shell].
func (h *holder) Sealed(reserved snowfence.Tick) {
	h.term.reserved, h.term.sealed = reserved, true
	h.term = nil
}

// clone copies the process with its memory. Its generator goes on from where the other one stands.
func (h *holder) clone(s Site) Allocator {
	twin := *h
	twin.site, twin.out, twin.term, twin.intake, twin.stalled = s, nil, nil, intake{}, nil
	twin.drive(h.state)
	if h.term != nil {
		status := h.term.generator.Status()
		if status.Revoked == nil {
			// If the window is used up the last tick must do: a generator can't be empty.
			from := min(max(status.Reserved, status.Now), status.Until-1)
			twin.driver.Perform(lease.Start{Worker: h.term.worker, Term: h.state.View().Register.Term, Floor: from, Until: status.Until})
			twin.term.name += ", the copy"
			twin.term.nonce, twin.term.floor = h.term.nonce, h.term.floor
		}
	}
	return &twin
}

// written is a register of a worker.
type written struct {
	worker int64
	stored.Register
}

// known returns the registers that a copy of the process knows as its own: the term's, the one sent
// last, and that of the journal's last page, which may wait for the page: then two copies send it.
func (h *holder) known() (all []written) {
	view := h.state.View()
	if view.Register.Holder != "" {
		all = append(all, written{view.Worker, view.Register})
	}
	add := func(worker int64, value []byte) {
		if r, err := stored.DecodeRegister(value); err == nil {
			all = append(all, written{worker, r})
		}
	}
	if h.open != nil {
		if worker, ok := stored.WorkerOf(stored.DefaultNamespace, h.site.Layout, h.open.Key); ok {
			add(worker, h.open.Value)
		}
	}
	if h.page.Pending != nil {
		add(h.page.Worker, h.page.Pending)
	}
	return all
}

// holds reports whether the process may be owed ids: it has not failed, and does not know of another namespace.
func (h *holder) holds(incarnation string) bool {
	view := h.state.View()
	known := view.Namespace.Incarnation
	return view.Phase != lease.Failed && (known == "" || known == incarnation)
}

// heeds reports whether the holder acts on a call that ended in err. As in package fence, it acts once
// on a clock that is behind.
func (h *holder) heeds(err error) bool {
	return !errors.Is(err, snowfence.ErrClockBehind) || h.state.View().Outage.Supply < lease.Refusing
}
