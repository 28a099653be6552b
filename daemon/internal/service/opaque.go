package service

import (
	"context"
	"errors"

	"snowfence.example/snowfence/daemon/kind"
)

// shower is a minter that shows the ids of another generator as texts.
type shower interface {
	// Of is the name of the other generator. It never changes.
	Of() string
	Show(id string) (text string, err error)
	Read(text string) (id string, err error)
}

// mint has a minter mint, or the other generator of one that shows ids.
func (s *Service) mint(ctx context.Context, who Who, g *generator, n int, into *kind.Batch) error {
	minter := g.minter.Load() // there is one: the generator is ready
	o, ok := minter.Minter.(shower)
	switch {
	case ok:
	case minter.maxWait > 0 && n > minter.slice && minter.Form() == kind.Number:
		return s.inSlices(ctx, who, minter, n, into)
	default:
		return minter.Mint(ctx, n, into)
	}
	var ids kind.Batch
	err := s.mintFor(ctx, who, o.Of(), n, &ids)
	for id := range ids.Texts() {
		if err == nil {
			err = show(o, string(id), into)
		}
	}
	return err
}

func show(o shower, id string, into *kind.Batch) error {
	text, err := o.Show(id)
	if err != nil {
		return err
	}
	return into.AppendText([]byte(text))
}

// Show appends the text by which an opaque generator shows an id that exists. On a [*Problem] it
// appends nothing.
func (s *Service) Show(name, id string, into *kind.Batch) error {
	g, minter, err := s.ready(name, 1)
	if err != nil {
		return err
	}
	err = errors.New("must be left out: the generator is not opaque")
	if o, ok := minter.(shower); ok {
		err = show(o, id, into)
	}
	if err != nil {
		return s.problem(g, invalid(InvalidID, "show", id, reason(err)))
	}
	return nil
}
