package service

import (
	"errors"
	"fmt"
	"math"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/kind"
)

// troubleOf returns the trouble that a lease or a counter has with its store, or nil.
func troubleOf(lease *kind.Lease, numbers *kind.Counter, now time.Time) *front.Trouble {
	switch {
	case lease != nil && lease.Failing != nil:
		t := &front.Trouble{Text: "the store does not answer: " + lease.Failing.Error(), Since: now.Add(-lease.FailingFor)}
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
		return &front.Trouble{
			Text:  fmt.Sprintf("no numbers can be reserved, and %d are in hand: %v", held, numbers.LastError),
			Since: now.Add(-numbers.FailingFor),
		}
	}
	return nil
}

// Statuses implements [front.Service].
func (s *Service) Statuses() []front.Status {
	all := s.ordered()
	statuses := make([]front.Status, len(all))
	for i, g := range all {
		statuses[i] = s.status(g)
		if m := g.minter.Load(); m != nil && m.of != nil && !g.stopped.Load() {
			of := s.status(m.of)
			statuses[i].Problem, statuses[i].StandsBy = of.Problem, of.StandsBy
		}
		if (statuses[i].Problem == nil || statuses[i].StandsBy) && s.leaving.Load() {
			statuses[i].Problem, statuses[i].StandsBy = front.Stopped.Problem(nil), false
		}
	}
	return statuses
}

func (s *Service) status(g *generator) front.Status {
	status := g.status()
	if t := g.trouble.Load(); status.Problem == nil && t != nil && s.clock.Monotonic()-t.at < lasting {
		status.Problem = t.problem
	}
	status.StandsBy = status.Problem != nil && status.Problem.Type == front.Standby && g.standsBy.Load()
	status.Trouble = troubleOf(status.Lease, status.Counter, s.clock.Wall())
	status.Ends, status.EndsSoon = ending(g.layout(), status.Counter, s.clock.Wall())
	return status
}

func (g *generator) status() front.Status {
	status := front.Status{
		Name:      g.name,
		Kind:      g.settings.Kind,
		Namespace: g.settings.Namespace,
		IDs:       g.ids.Load(),
		Requests:  g.requests.Load(),
		Problems:  make(map[front.Type]uint64, front.Types),
	}
	for t := range g.problems {
		status.Problems[front.Type(t)] = g.problems[t].Load()
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
