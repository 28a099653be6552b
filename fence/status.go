package fence

import (
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/store"
)

// horizonNotice is how long before its layout's horizon a holder warns by default.
const horizonNotice = 365 * 24 * time.Hour

// Status is the state of a [Holder] at one moment.
type Status struct {
	Namespace string
	Layout    snowfence.Layout
	Policy    snowfence.Policy // with the defaults for the layout
	Window    time.Duration    // as it is rounded
	Traits    store.Traits

	// Incarnation identifies the namespace's record: a store that was emptied has another. It is empty before the record
	// was read. Datacenters are those that the store may issue by the record; none means all.
	Incarnation string
	Datacenters []int64

	// Phase is "holding" while there is a term, or "comparing" while the clock of a resumed
	// term is judged. Before and after a term it is opening, judging, probing, claiming,
	// verifying, confirming, resuming, recording, resting, releasing, stopped or failed.
	Phase string

	// Ready is true while ids can be issued. A silent store shows in Left until the window
	// ends; then Ready is false, and after max-wait calls are refused, see Outages. A program that
	// stops taking work before ids end watches Left, as the daemon's /readyz does: it turns while ids
	// are left.
	Ready bool

	// Worker and Datacenter are the present term's worker number and its upper bits. Term
	// counts the claims of that worker id; it is 0 without a term.
	Worker, Datacenter, Term int64

	// Ticks in [Floor, Until) may be stamped now.
	Floor, Until snowfence.Tick

	// Left is how long ids can be issued if the store stops answering.
	Left time.Duration

	// Generator is the status of the present term's generator; zero without one.
	Generator snowfence.GeneratorStatus

	// ClockOffset is how far this clock was ahead of the store's at the last
	// comparison; negative when behind. ClockCompared is false without a comparison.
	ClockOffset   time.Duration
	ClockCompared bool

	// Extensions counts the extensions of this term, Losses the terms that were lost.
	Extensions, Losses uint64

	// Outages counts how often ids stopped for longer than a call waits, WindowsEnded how
	// often a window ended before the next was acknowledged, however short the gap was.
	Outages, WindowsEnded uint64

	// LastError is why no ids are issued; nil while they are.
	LastError error

	// Journal is the status of the journal; zero without one.
	Journal JournalStatus

	// Store counts the requests to the store.
	Store StoreStatus

	// HorizonIn is how long the layout lasts. HorizonNear is true from HorizonNotice before.
	HorizonIn   time.Duration
	HorizonNear bool
}

// StoreStatus counts a holder's requests to its store.
type StoreStatus struct {
	Requests, Errors uint64
	Latency          time.Duration // of the last request
	LastError        error

	// Failing is why the store does not do its part now: the last error of a store that does not
	// answer, or, with ReadOnly, that answers reads and takes no writes. It is nil while the store does
	// its part, and after a single quick failure. Left is how long ids go on.
	Failing    error
	FailingFor time.Duration
	ReadOnly   bool
}

// Status returns the holder's status.
func (h *Holder) Status() Status {
	wall := h.config.Clock.Wall()
	h.mu.Lock()
	s := h.status
	s.LastError = h.lease.Outage.Reason
	if t := h.lease.Trouble; t.Err != nil {
		s.Store.Failing, s.Store.FailingFor, s.Store.ReadOnly = t.Err, h.config.Clock.Monotonic()-t.Since, t.Reads
	}
	held := h.lease.Holding
	h.mu.Unlock()
	s.HorizonIn = h.config.Layout.Horizon().Sub(wall)
	s.HorizonNear = s.HorizonIn < h.config.HorizonNotice
	if !held {
		return s
	}
	s.Generator = h.current.Load().Status()
	layout := h.config.Layout
	s.Left = s.Generator.Left
	if s.Until > s.Generator.Until { // with a journal the generator has the journal's bound
		s.Left = max(0, layout.TimeOf(s.Until).Sub(layout.TimeOf(s.Generator.Now)))
	}
	s.Until = max(s.Until, s.Generator.Until)
	if s.Left == 0 {
		h.nudge() // calls may be absent: the extension must not wait for its date
	}
	why := lease.Refusal(layout, s.Generator, wall)
	switch s.Ready = why == nil; {
	case s.Ready:
		s.LastError = nil
	case s.LastError == nil:
		s.LastError = why
	}
	return s
}

// publish updates the status. It wakes the waiting calls if they may now succeed, or now
// fail for good.
func (l *loop) publish() {
	v := l.driver.State().View()
	var datacenter int64
	if v.Register.Term > 0 {
		// A worker number that was claimed fits its layout.
		datacenter = v.Worker >> l.config.Layout.Bits(snowfence.Worker)
	}
	near := l.config.Layout.Horizon().Sub(l.config.Clock.Wall()) < l.config.HorizonNotice
	if near && !l.horizonWarned {
		l.horizonWarned = true
		l.config.Logger.Warn("the layout's time bits run out: plan another namespace",
			"namespace", l.config.Namespace, "layout", l.config.Layout.String(), "horizon", l.config.Layout.Horizon())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.status
	s.Phase, s.Worker, s.Datacenter = v.Phase.String(), v.Worker, datacenter
	s.Term, s.Floor, s.Until = v.Register.Term, v.Register.Floor, v.Usable
	s.Incarnation, s.Datacenters = v.Namespace.Incarnation, v.Namespace.Datacenters
	s.Extensions, s.Losses = v.Extensions, v.Losses
	s.Outages, s.WindowsEnded = v.Outages, v.WindowsEnded
	l.lease = v
	if v.Outage.Supply == lease.Issuing || v.Outage.Final {
		close(l.changed)
		l.changed = make(chan struct{})
	}
	s.Journal = JournalStatus{Kept: v.Kept > 0, Used: v.Kept, Resumed: v.Inherited}
}
