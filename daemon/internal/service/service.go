package service

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/budget"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/daemon/token"
	"snowfence.example/snowfence/internal/decode"
)

// Config says what a service is made of.
type Config struct {
	// Settings are complete.
	Settings config.Config
	// Formats say how kinds without layouts write ids, by the kind's name. The ids of others are
	// no more than texts.
	Formats map[string]decode.Format
	// Tokens are what clients must show one of. Nil means that none is asked for.
	Tokens *token.Ring
	// Memory is where large answers are taken from. Nil has no bounds.
	Memory *budget.Budget
	// Clock says how far ends are ahead. Nil means [snowfence.SystemClock].
	Clock snowfence.Clock
	// Logger gets the faults. Nil means that nothing is logged.
	Logger *slog.Logger
}

// Service mints ids for fronts. It is safe for concurrent use.
type Service struct {
	settings   config.Config
	formats    map[string]decode.Format
	generators map[string]*generator // by name and alias; never changes
	tokens     *token.Ring           // nil if none is asked for
	addresses  *addresses            // nil without a rate
	memory     *budget.Budget
	leaving    atomic.Bool // serves still, but says that it is not ready
	clock      snowfence.Clock
	log        *slog.Logger
	warned     atomic.Int64 // when Warn may log again, on the monotonic clock
	wrong      wrong
}

// generator is starting until it has a minter, and stopped once that was taken away.
type generator struct {
	name     string
	settings config.Generator
	most     int // ids of one request, by the configuration
	minter   atomic.Pointer[served]
	stopped  atomic.Bool
	refused  atomic.Int64 // of a generator that an operator must mend: the pause between attempts, in ns; 0 for others
	audits   atomic.Int64 // under way, of a series

	// The counters have cache lines of their own, so that counting does not
	// slow down reads of the fields above.
	_        [64]byte
	ids      atomic.Uint64
	requests atomic.Uint64
	trouble  atomic.Pointer[trouble] // nil after a success
	_        [64]byte
	problems [typeCount]atomic.Uint64
}

// served boxes a minter, since an atomic pointer can't point to an interface.
type served struct {
	kind.Minter
	most    int              // ids of one request
	layout  snowfence.Layout // of the minter's ids, if they have one
	maxWait time.Duration    // of one request, if the minter is fenced, and else 0
	slice   int              // ids that are minted at a time, if it is fenced
	turns   turns
}

// bounded is a minter that can't mint any number of ids at a time.
type bounded interface {
	// Most returns how many ids one request may ask for. It never changes.
	Most() int
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

// Limits returns what one request may ask for.
func (s *Service) Limits() config.Limits { return s.settings.Limits }

// Serve gives a generator its minter. From here on it mints.
func (s *Service) Serve(name string, minter kind.Minter) error {
	g, ok := s.generators[name]
	if !ok {
		return fmt.Errorf("serve: no generator is named %q", name)
	}
	settings, maxWait, slice := g.settings.InEffect(), time.Duration(0), 0
	if l, ok := minter.(leased); ok {
		status := l.Status()
		settings.Layout, settings.Policy = status.Layout, status.Policy // the namespace's, where none is configured
		maxWait = settings.Policy.MaxWait
		slice = sliceOf(settings.Layout)
	}
	most := most(settings, s.settings.Limits.Batch)
	if b, ok := minter.(bounded); ok {
		most = min(most, b.Most())
	}
	g.minter.Store(&served{Minter: minter, most: most, layout: settings.Layout, maxWait: maxWait, slice: slice})
	return nil
}

// Refuse says that a generator can't start until an operator acts, and is tried again after each pause. A pause of 0 takes
// that back. It does nothing to a generator that serves.
func (s *Service) Refuse(name string, pause time.Duration) {
	if g, ok := s.generators[name]; ok {
		g.refused.Store(int64(pause))
	}
}

// layout is that of the generator's ids: the configured one until it serves.
func (g *generator) layout() snowfence.Layout {
	if m := g.minter.Load(); m != nil {
		return m.layout
	}
	return g.settings.Layout
}

// Leave has every generator say that it is not ready, as with a problem of type [Stopped]. It serves still, so that clients can turn
// to another server before this one refuses them.
func (s *Service) Leave() { s.leaving.Store(true) }

// Stop makes every later call a problem of type [Stopped]. It closes no minters.
func (s *Service) Stop() {
	for _, g := range s.generators {
		g.stopped.Store(true)
	}
}

// Mint appends n new ids of a generator to the batch, on a [*Problem] none.
func (s *Service) Mint(ctx context.Context, name string, n int, into *kind.Batch) error {
	return s.mintFor(ctx, Who{}, name, n, into)
}

// mintFor is Mint for a client. Clients that ask for many ids take turns.
func (s *Service) mintFor(ctx context.Context, who Who, name string, n int, into *kind.Batch) error {
	g, minter, err := s.ready(name, n)
	if err != nil {
		return err
	}
	if _, ok := minter.(reserver); ok {
		return s.problem(g, NeedsReservation.plain())
	}
	had := into.Len()
	err = s.mint(ctx, who, g, n, into)
	if err == nil && into.Len() != had+n {
		err = fmt.Errorf("kind %s minted %d ids instead of %d", g.settings.Kind, into.Len()-had, n)
	}
	if err != nil {
		into.Truncate(had)
		return s.problem(g, g.classify(err))
	}
	s.count(g, n)
	return nil
}

// Form returns what the ids of a generator are made of, or zero while it is starting, and for a name
// that no generator has.
func (s *Service) Form(name string) kind.Form {
	g, ok := s.generators[name]
	if !ok {
		return 0
	}
	m := g.minter.Load()
	if m == nil {
		return 0
	}
	return m.Form()
}

// Most returns how many ids one request may ask a generator for: 1 for a name that no generator has.
func (s *Service) Most(name string) int {
	g, ok := s.generators[name]
	if !ok {
		return 1
	}
	return s.limit(g)
}

// Range reserves n consecutive numbers of a generator that a store counts, and returns the first, and how many
// were used up for it, whether or not it fails. A [*Problem] is returned for a generator of another kind, or with an
// increment above 1.
func (s *Service) Range(ctx context.Context, name string, n int) (first snowfence.ID, used int, err error) {
	g, minter, err := s.ready(name, n)
	if err != nil {
		return 0, 0, err
	}
	of, ok := minter.(counted)
	if !ok || minter.Form() != kind.Number {
		return 0, 0, s.problem(g, NotConsecutive.plain())
	}
	// A segment may end in the middle of a batch, and the next one need not follow it. Then these
	// numbers are used up.
	var b kind.Batch
	for range rangeTries {
		if n > 1 && of.Status().Increment > 1 {
			break // no two numbers are consecutive, and none must be used up
		}
		b.Reset()
		used += n // also if it fails: the store may have counted
		if err := s.Mint(ctx, name, n, &b); err != nil {
			return 0, used, err
		}
		if ids := b.Numbers(); ids[n-1]-ids[0] == snowfence.ID(n-1) {
			return ids[0], used, nil
		}
	}
	return 0, used, s.problem(g, NotConsecutive.plain())
}

// rangeTries is how often consecutive numbers are tried for. Segments are longer than most ranges,
// so the second try finds room.
const rangeTries = 3

// count counts an answer with n ids.
func (s *Service) count(g *generator, n int) {
	g.ids.Add(uint64(n))
	g.requests.Add(1)
	s.succeeded(g)
}

// checker is a minter that knows whether it can mint at this moment.
type checker interface {
	// Check returns why Mint would fail now, or nil. It uses nothing up and never blocks.
	Check() error
}

// Check returns the [*Problem] that Mint would meet, as far as that is known, or nil.
// It uses nothing up. What a minter foresees counts if it can't say how it stands now.
func (s *Service) Check(name string, n int) error {
	g, minter, err := s.ready(name, n)
	if err != nil {
		return err
	}
	switch m := minter.(type) {
	case reserver:
		return s.problem(g, NeedsReservation.plain())
	case shower:
		err = s.Check(m.Of(), n)
	case checker:
		err = m.Check()
	case kind.Readier:
		err = m.Ready()
	}
	if err != nil {
		return s.problem(g, g.classify(err))
	}
	return nil
}

// InvalidCount returns the [*Problem] with a number of ids that can't be read.
func (s *Service) InvalidCount(name, text string) error {
	g, err := s.find(name)
	if err != nil {
		return err
	}
	return s.problem(g, s.countProblem(g, text))
}

// find finds a generator. Its error is a *Problem.
func (s *Service) find(name string) (*generator, error) {
	if g, ok := s.generators[name]; ok {
		return g, nil
	}
	return nil, invalid(UnknownGenerator, "generator", name, "must be one of "+strings.Join(s.settings.Names(), ", "))
}

// ready finds what Mint needs, and refuses too many ids. Its error is a *Problem.
func (s *Service) ready(name string, n int) (*generator, kind.Minter, error) {
	g, err := s.find(name)
	if err != nil {
		return nil, nil, err
	}
	if n < 1 || n > s.limit(g) {
		return nil, nil, s.problem(g, s.countProblem(g, strconv.Itoa(n)))
	}
	minter, problem := g.serving()
	if problem != nil {
		return nil, nil, s.problem(g, problem)
	}
	return g, minter, nil
}

// countProblem is the problem with a number of ids that is none or out of range.
func (s *Service) countProblem(g *generator, value string) *Problem {
	return invalid(CountOutOfRange, "count", value, fmt.Sprintf("must be a whole number from 1 to %d", s.limit(g)))
}

// limit is how many ids one request may ask for. One that shows ids has the other's limit, too.
func (s *Service) limit(g *generator) int {
	m := g.minter.Load()
	if m == nil {
		return g.most
	}
	if o, ok := m.Minter.(shower); ok {
		return min(m.most, s.limit(s.generators[o.Of()]))
	}
	return m.most
}

// most returns how many ids one request may ask a generator for: the limit of
// all requests, but no more than can be minted within the policy's MaxWait
// by a client that asks alone. That is every sequence of the present tick, of
// the ticks that a burst may run ahead, and of those that begin while it waits.
func most(g config.Generator, limit int) int {
	if g.Layout.IsZero() {
		return limit // of a kind without layouts
	}
	policy, unit := g.Policy, g.Layout.Unit
	ticks := int64(1 + policy.MaxBurst/unit + (policy.MaxWait-1)/unit + 1)
	// Each factor is at most 1,000,000 before they are multiplied.
	return int(min(int64(limit), min(ticks, int64(limit))*min(g.Layout.Sequences(), int64(limit))))
}

// serving returns the minter, or why there is none.
func (g *generator) serving() (kind.Minter, *Problem) {
	if g.stopped.Load() {
		return nil, Stopped.problem(nil)
	}
	if m := g.minter.Load(); m != nil {
		return m.Minter, nil
	}
	if pause := time.Duration(g.refused.Load()); pause > 0 {
		p := Refused.problem(nil)
		p.RetryAfter = pause
		return nil, p
	}
	if g.settings.Standby {
		return nil, Standby.problem(nil)
	}
	return nil, Starting.problem(nil)
}

// problem counts a problem, and logs it if an operator should look at it.
func (s *Service) problem(g *generator, p *Problem) error {
	g.problems[p.Type].Add(1)
	if p.Type == Internal {
		s.log.Error("a request failed", "generator", g.name, "error", p.cause)
	}
	s.failed(g, p)
	return p
}

// Guarded reports whether clients must show a token.
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
