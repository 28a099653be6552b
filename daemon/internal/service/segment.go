package service

import (
	"context"
	"fmt"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/leafalloc"
)

// segmented is a minter that gives whole segments.
type segmented interface {
	// Segment reserves the next one.
	Segment(ctx context.Context) (counter.Range, error)
	// Step is how many numbers it will have.
	Step() int64
}

// Segment reserves a whole segment for the client. A [*Problem] is returned, also for a generator
// that gives none. A segment costs all its numbers: the client owes those that a rate does not hold
// at once.
func (c *Client) Segment(ctx context.Context, name string) (counter.Range, error) {
	if err := c.Admit(name, 0); err != nil {
		return counter.Range{}, err
	}
	g, minter, err := c.service.ready(name, 1)
	if err != nil {
		return counter.Range{}, err
	}
	of, ok := minter.(segmented)
	if !ok {
		return counter.Range{}, c.service.problem(g, invalid(UnknownGenerator, "generator", name, fmt.Sprintf("gives no segments: it is of kind %s, and must be of kind segment, leaf-segment or tinyid", g.settings.Kind)))
	}
	step := int(of.Step())
	if err := c.pay(name, step); err != nil {
		return counter.Range{}, err
	}
	r, err := of.Segment(ctx)
	c.settle(step, int(r.Count))
	if err != nil {
		return counter.Range{}, c.service.problem(g, classify(err))
	}
	c.service.count(g, int(r.Count))
	return r, nil
}

// LeafRows returns the rows of leaf_alloc that generators count on, of those that the client may use.
// A [*Problem] is returned when one can't be read. Each costs as much as an id.
func (c *Client) LeafRows(ctx context.Context) (rows []leafalloc.Row, err error) {
	if err := c.known(); err != nil {
		return nil, err
	}
	for _, g := range c.service.ordered() {
		minter, _ := g.serving()
		shown, ok := minter.(interface {
			Row(ctx context.Context) (leafalloc.Row, error)
		})
		if !ok || !c.Allows(g.name) {
			continue
		}
		if err := c.pay(g.name, 1); err != nil {
			return nil, err
		}
		row, err := shown.Row(ctx)
		if err != nil {
			return nil, c.service.problem(g, classify(err))
		}
		rows = append(rows, row)
	}
	return rows, nil
}
