package service

import (
	"slices"
	"sync"

	"snowfence.example/snowfence/daemon/internal/front"
)

// maxRefusals is how many rows of [refusals] are kept. The row whose last refusal is the oldest makes room.
const maxRefusals = 100

// refusals count refused requests by generator and type. The zero value is ready to use.
type refusals struct {
	mu   sync.Mutex // guards kept
	kept []front.Refusal
}

// note counts a refusal. The order is that of the calls, so a clock that steps back changes nothing about it.
func (r *refusals) note(x front.Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.kept, func(k front.Refusal) bool { return k.Type == x.Type && k.Generator == x.Generator })
	switch {
	case i >= 0:
		x.Count += r.kept[i].Count
		r.kept = slices.Delete(r.kept, i, i+1)
	case len(r.kept) >= maxRefusals:
		r.kept = slices.Delete(r.kept, 0, 1)
	}
	r.kept = append(r.kept, x)
}

// Refusals implements [front.Service].
func (s *Service) Refusals() []front.Refusal {
	s.refusals.mu.Lock()
	defer s.refusals.mu.Unlock()
	all := slices.Clone(s.refusals.kept)
	slices.Reverse(all)
	return all
}

// problem is the one way by which a request is refused. The generator is nil if the request has none yet.
func (c *Client) problem(g *generator, p *front.Problem) error {
	x := front.Refusal{Type: p.Type, Count: 1, Last: c.service.clock.Wall().UTC(), Address: c.address}
	if c.grant != nil {
		x.Token = c.grant.Name
	}
	if g != nil {
		x.Generator = g.name
		c.service.count(g, p)
	}
	c.service.refusals.note(x)
	return p
}
