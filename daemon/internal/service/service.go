package service

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/budget"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/daemon/token"
	"snowfence.example/snowfence/internal/decode"
)

// Config has the parts of a service.
type Config struct {
	// Settings are complete.
	Settings config.Config
	// Formats are the formats of ids of kinds without layouts, by the kind's name. The ids of other
	// kinds are only texts.
	Formats map[string]decode.Format
	// Tokens are the accepted tokens. Nil means that clients need no token.
	Tokens *token.Ring
	// Memory bounds the memory of large answers. Nil is unbounded.
	Memory *budget.Budget
	// Clock gives the time. Nil means [snowfence.SystemClock].
	Clock snowfence.Clock
	// Logger gets the faults. Nil means that nothing is logged.
	Logger *slog.Logger
	// Changed, if it is set, is called when the state of a generator may have changed.
	Changed func()
}

// Service mints ids for fronts. It is safe for concurrent use.
type Service struct {
	settings   config.Config
	formats    map[string]decode.Format
	generators map[string]*generator // by name and alias; never changes
	tokens     *token.Ring           // nil if clients need no token
	addresses  *addresses            // nil without a rate
	memory     *budget.Budget
	leaving    atomic.Bool // serves still, but reports that it is not ready
	clock      snowfence.Clock
	log        *slog.Logger
	warned     atomic.Int64 // when Warn may log again, on the monotonic clock
	wrong      wrong
	refusals   refusals
	changed    func()
}

// generator is starting until it has a minter, and stopped once that was taken away.
type generator struct {
	name     string
	settings config.Generator
	most     int // ids of one request, by the configuration
	minter   atomic.Pointer[served]
	stopped  atomic.Bool
	refused  atomic.Pointer[refusal] // why it can't start; nil before that was tried
	audits   atomic.Int64            // under way, of a series
	standsBy atomic.Bool             // as the holder reports

	// The counters have cache lines of their own, so that counting does not
	// slow down reads of the fields above.
	_        [64]byte
	ids      atomic.Uint64
	requests atomic.Uint64
	trouble  atomic.Pointer[trouble] // nil after a success
	_        [64]byte
	problems [front.Types]atomic.Uint64
	audited  [front.Types]atomic.Int64 // when a borrower's refusal may be logged again, on the monotonic clock
}

// refusal is why a generator can't start.
type refusal struct {
	err   error
	pause time.Duration // between attempts, if an operator must mend it; 0 for others
}

// served is a minter and its abilities.
type served struct {
	kind.Minter
	caps    kind.Caps
	of      *generator       // whose ids the minter shows, or nil
	most    int              // ids of one request
	layout  snowfence.Layout // of the minter's ids, if they have one
	maxWait time.Duration    // of one request, if the minter is fenced, and else 0
	slice   int              // ids that are minted at a time, if it is fenced
	turns   turns
	lent    lent
}

// New returns a service whose generators are all starting.
func New(cfg Config) *Service {
	s := &Service{
		settings:   cfg.Settings,
		formats:    cfg.Formats,
		generators: make(map[string]*generator, len(cfg.Settings.Generators)),
		tokens:     cfg.Tokens,
		memory:     cfg.Memory,
		clock:      cmp.Or(cfg.Clock, snowfence.SystemClock()),
		log:        cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)),
		changed:    cfg.Changed,
	}
	if s.changed == nil {
		s.changed = func() {}
	}
	if l := cfg.Settings.Limits; l.AddressRate > 0 {
		s.addresses = &addresses{rate: l.AddressRate, neighbours: map[netip.Prefix]*neighbour{}}
	}
	for name, g := range cfg.Settings.Generators {
		s.generators[name] = &generator{name: name, settings: g, most: most(g.InEffect(), cfg.Settings.Limits.Batch)}
		for _, alias := range g.Aliases {
			s.generators[alias] = s.generators[name]
		}
	}
	return s
}

// Limits returns the limits of the fronts' connections and requests.
func (s *Service) Limits() front.Limits {
	l := s.settings.Limits
	return front.Limits{
		Connections: l.Connections, Header: l.Header, Body: l.Body,
		ReadTimeout: l.ReadTimeout, WriteTimeout: l.WriteTimeout, IdleTimeout: l.IdleTimeout, Session: l.Session,
	}
}

// Serve gives a generator its minter. From here on it mints.
func (s *Service) Serve(name string, minter kind.Minter) error {
	g, ok := s.generators[name]
	if !ok {
		return fmt.Errorf("serve: no generator is named %q", name)
	}
	m := &served{Minter: minter, caps: kind.CapsOf(minter), layout: g.settings.Layout, most: g.most}
	if m.caps.Lease != nil {
		status, settings := m.caps.Lease(), g.settings.InEffect()
		settings.Layout, settings.Policy = status.Layout, status.Policy // the namespace's, where the configuration leaves them out
		m.layout, m.most = settings.Layout, most(settings, s.settings.Limits.Batch)
		m.maxWait, m.slice = settings.Policy.MaxWait, sliceOf(m.layout)
	}
	if m.caps.Most > 0 {
		m.most = min(m.most, m.caps.Most)
	}
	if m.caps.Shows != nil {
		if m.of = s.generators[m.caps.Shows.Of()]; m.of == nil || m.of == g {
			return fmt.Errorf("serve: generator %s shows the ids of %q, which is no other generator", name, m.caps.Shows.Of())
		}
	}
	g.minter.Store(m)
	s.changed()
	return nil
}

// Refuse records why a generator can't start. With a pause it can't until an operator acts, and is tried again after each pause.
// It does nothing to a generator that serves.
func (s *Service) Refuse(name string, err error, pause time.Duration) {
	if g, ok := s.generators[name]; ok {
		g.refused.Store(&refusal{err, pause})
		s.changed()
	}
}

// StandBy records whether another process holds the generator's worker id, and nothing is wrong.
func (s *Service) StandBy(name string, does bool) {
	if g, ok := s.generators[name]; ok {
		g.standsBy.Store(does)
		s.changed()
	}
}

// layout is that of the generator's ids: the configured one until it serves.
func (g *generator) layout() snowfence.Layout {
	if m := g.minter.Load(); m != nil {
		return m.layout
	}
	return g.settings.Layout
}

// Leave has every generator report that it is not ready, as with a problem of type [front.Stopped]. It serves still, so that clients can
// turn to another server before this one refuses them.
func (s *Service) Leave() {
	s.leaving.Store(true)
	s.changed()
}

// Stop makes every later call a problem of type [front.Stopped]. It leaves the minters open.
func (s *Service) Stop() {
	for _, g := range s.generators {
		g.stopped.Store(true)
	}
}

// limit is how many ids one request may ask for. An opaque generator has the other's limit, too.
func (g *generator) limit(m *served) int {
	switch {
	case m == nil:
		return g.most
	case m.of != nil:
		return min(m.most, m.of.limit(m.of.minter.Load()))
	}
	return m.most
}

// most returns how many ids one request may ask a generator for: the limit of all requests, but at most
// the ids that a client alone can get within the policy's MaxWait. They are all sequences of the
// present tick, of the ticks that a burst may run ahead, and of the ticks that begin while it waits.
func most(g config.Generator, limit int) int {
	if g.Layout.IsZero() {
		return limit // of a kind without layouts
	}
	policy, unit := g.Policy, g.Layout.Unit
	ticks := int64(1 + policy.MaxBurst/unit + (policy.MaxWait-1)/unit + 1)
	// Each factor is at most 1,000,000 before they are multiplied.
	return int(min(int64(limit), min(ticks, int64(limit))*min(g.Layout.Sequences(), int64(limit))))
}

// away returns nil while the generator gives ids by the minter, or else the reason. The minter is nil
// before it serves.
func (g *generator) away(m *served) *front.Problem {
	switch {
	case g.stopped.Load():
		return front.Stopped.Problem(nil)
	case m != nil:
		return nil
	}
	var why refusal
	if refused := g.refused.Load(); refused != nil {
		why = *refused
	}
	switch {
	case why.pause > 0:
		p := front.Refused.Problem(why.err)
		p.RetryAfter = why.pause
		return p
	case g.settings.Standby:
		return front.Standby.Problem(why.err)
	}
	return front.Starting.Problem(why.err)
}

// count counts a problem, and logs it if an operator should look at it.
func (s *Service) count(g *generator, p *front.Problem) {
	g.problems[p.Type].Add(1)
	if p.Type == front.Internal {
		s.log.Error("a request failed", "generator", g.name, "error", p.Cause)
	}
	s.failed(g, p)
}

// Guarded implements [front.Service].
func (s *Service) Guarded() bool { return s.tokens != nil }

// ordered returns the generators by name.
func (s *Service) ordered() []*generator {
	all := make([]*generator, 0, len(s.generators))
	for _, name := range s.settings.Names() {
		all = append(all, s.generators[name])
	}
	return all
}

// layout returns the one that all generators share, for ids without a named one.
func (s *Service) layout() (snowfence.Layout, bool) {
	var shared snowfence.Layout
	for _, g := range s.ordered() {
		switch l := g.layout(); {
		case l.IsZero(): // a kind without layouts
		case shared.IsZero():
			shared = l
		case !shared.Equal(l):
			return snowfence.Layout{}, false
		}
	}
	return shared, !shared.IsZero()
}
