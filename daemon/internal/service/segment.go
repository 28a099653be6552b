package service

import (
	"context"
	"fmt"

	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/kind"
)

// Segment implements [front.Use]. The client owes the numbers that a rate does not hold at once.
func (u *Use) Segment(ctx context.Context) (kind.Range, error) {
	if err := u.ready(1); err != nil {
		return kind.Range{}, err
	}
	of := u.m.caps.Segments
	if of == nil {
		return kind.Range{}, u.problem(front.UnknownGenerator.Field("generator", u.of.name, fmt.Sprintf("gives no segments: it is of kind %s, and must be of kind segment, leaf-segment or tinyid", u.Kind())))
	}
	step := int(of.Step())
	if err := u.client.pay(u.of, step); err != nil {
		return kind.Range{}, err
	}
	r, err := of.Segment(ctx)
	u.client.settle(step, int(r.Count))
	if err != nil {
		return kind.Range{}, u.problem(u.of.classify(err))
	}
	u.count(int(r.Count))
	return r, nil
}

// LeafRows implements [front.Client].
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
			return nil, c.problem(g, classify(err))
		}
		rows = append(rows, row)
	}
	return rows, nil
}
