package service

import (
	"context"
	"fmt"

	"snowfence.example/snowfence/daemon/kind"
)

// Segment reserves a whole segment for the client. A [*Problem] is returned, also for a generator
// that gives none. A segment costs all its numbers: the client owes those that a rate does not hold
// at once.
func (u Use) Segment(ctx context.Context) (kind.Range, error) {
	if err := u.ready(1); err != nil {
		return kind.Range{}, err
	}
	of := u.m.caps.Segments
	if of == nil {
		return kind.Range{}, u.problem(invalid(UnknownGenerator, "generator", u.of.name, fmt.Sprintf("gives no segments: it is of kind %s, and must be of kind segment, leaf-segment or tinyid", u.Kind())))
	}
	step := int(of.Step())
	if err := u.client.pay(u.of, step); err != nil {
		return kind.Range{}, err
	}
	r, err := of.Segment(ctx)
	u.client.settle(step, int(r.Count))
	if err != nil {
		return kind.Range{}, u.problem(classify(err))
	}
	u.count(int(r.Count))
	return r, nil
}

// LeafRows returns the rows of leaf_alloc that generators count on, of those that the client may use.
// A [*Problem] is returned when one can't be read. Each costs as much as an id.
func (c *Client) LeafRows(ctx context.Context) (rows []kind.Row, err error) {
	if err := c.known(); err != nil {
		return nil, err
	}
	for _, g := range c.service.ordered() {
		m := g.minter.Load()
		if m == nil || m.caps.Row == nil || g.stopped.Load() || !c.Allows(g.name) {
			continue
		}
		if err := c.pay(g, 1); err != nil {
			return nil, err
		}
		row, err := m.caps.Row(ctx)
		if err != nil {
			return nil, c.service.problem(g, classify(err))
		}
		rows = append(rows, row)
	}
	return rows, nil
}
