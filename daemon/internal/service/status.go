package service

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/daemon/kind"
)

// Status is one generator as it stands.
type Status struct {
	Name      string
	Kind      string
	Namespace string
	// Form is zero while the generator is starting.
	Form kind.Form
	// Problem is what a request would meet now or before long, or nil.
	Problem *Problem
	// Lease is nil while the generator is starting, or if its kind needs none.
	Lease *kind.Lease
	// Counter is nil while the generator is starting, or if a store does not count its ids.
	Counter *kind.Counter
	// Ends is when its ids are used up: at the layout's horizon, or when the counter reaches its
	// limit at its average rate. It is zero if that is not known, or further away than a
	// [time.Duration] reaches.
	Ends time.Time
	// EndsSoon is true from a year before Ends, and while a counter has a tenth of its numbers
	// left at most: its use may grow, and a daily sequence has no rate.
	EndsSoon bool
	// Trouble is a store that does not do its part, although ids are minted still; nil if there is none.
	Trouble *Trouble
	// IDs and Requests count what was minted, Problems what was not.
	IDs      uint64
	Requests uint64
	Problems map[Type]uint64
}

// Trouble is a store that does not do its part.
type Trouble struct {
	Text  string    // in the store's words
	Since time.Time // the first request that failed
	Until time.Time // until then ids go on; zero if that is not known, or there are none
}

// troubleOf returns the trouble that a lease or a counter has with its store, or nil.
func troubleOf(lease *kind.Lease, numbers *kind.Counter, now time.Time) *Trouble {
	switch {
	case lease != nil && lease.Failing != nil:
		t := &Trouble{Text: "the store does not answer: " + lease.Failing.Error(), Since: now.Add(-lease.FailingFor)}
		if lease.ReadOnly {
			t.Text = "the store takes no writes: " + lease.Failing.Error()
		}
		if lease.Left > 0 {
			t.Until = now.Add(lease.Left)
		}
		return t
	case numbers != nil && numbers.LastError != nil && !errors.Is(numbers.LastError, counter.ErrFull):
		var held int64
		for _, r := range numbers.Held {
			held += r.Count
		}
		return &Trouble{
			Text:  fmt.Sprintf("no numbers can be reserved, and %d are in hand: %v", held, numbers.LastError),
			Since: now.Add(-numbers.FailingFor),
		}
	}
	return nil
}

// Statuses returns how each generator stands, by name.
func (s *Service) Statuses() []Status {
	all := s.ordered()
	statuses := make([]Status, len(all))
	for i, g := range all {
		statuses[i] = s.status(g)
		if m := g.minter.Load(); m != nil && m.of != nil && !g.stopped.Load() {
			statuses[i].Problem = s.status(m.of).Problem
		}
		if statuses[i].Problem == nil && s.leaving.Load() {
			statuses[i].Problem = Stopped.problem(nil)
		}
	}
	return statuses
}

func (s *Service) status(g *generator) Status {
	status := g.status()
	if status.Problem == nil {
		status.Problem = s.troubled(g)
	}
	status.Trouble = troubleOf(status.Lease, status.Counter, s.clock.Wall())
	status.Ends, status.EndsSoon = ending(g.layout(), status.Counter, s.clock.Wall())
	return status
}

func (g *generator) status() Status {
	status := Status{
		Name:      g.name,
		Kind:      g.settings.Kind,
		Namespace: g.settings.Namespace,
		IDs:       g.ids.Load(),
		Requests:  g.requests.Load(),
		Problems:  make(map[Type]uint64, typeCount),
	}
	for t := range g.problems {
		status.Problems[Type(t)] = g.problems[t].Load()
	}
	m := g.minter.Load()
	if problem := g.away(m); problem != nil {
		status.Problem = problem
		return status
	}
	status.Form = m.Form()
	if m.caps.Lease != nil {
		lease := m.caps.Lease()
		status.Lease = &lease
	}
	if m.caps.Counter != nil {
		counter := m.caps.Counter()
		status.Counter = &counter
	}
	if m.caps.Ready != nil {
		if err := m.caps.Ready(); err != nil {
			status.Problem = g.classify(err)
		}
	}
	return status
}

// ending returns when a generator ends, and whether that is soon.
func ending(l snowfence.Layout, c *kind.Counter, now time.Time) (ends time.Time, soon bool) {
	switch {
	case c != nil:
		ends, soon = c.RunsOut, c.Total > 0 && c.Left <= c.Total/10
	case !l.IsZero():
		ends = l.Horizon()
	}
	left := ends.Sub(now)
	if ends.IsZero() || left == math.MaxInt64 {
		return time.Time{}, soon
	}
	return ends, soon || left < counter.NearEnd
}

// Ready reports whether every generator can mint, and will be able to for a while.
func Ready(statuses []Status) bool {
	return !slices.ContainsFunc(statuses, func(s Status) bool { return s.Problem != nil })
}
