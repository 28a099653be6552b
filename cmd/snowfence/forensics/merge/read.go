package merge

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
	"snowfence.example/snowfence/cmd/snowfence/forensics/source"
)

// read reads all ids, and counts them.
func (c Config) read(ctx context.Context, r *Report) error {
	inputs := make([]idsort.Input, len(c.Inputs))
	for n, in := range c.Inputs {
		name := c.Sides[in.Side]
		inputs[n] = idsort.Input{Size: in.Size, Open: func(ctx context.Context) (source.Source, error) {
			opened, err := in.Open(ctx)
			if err != nil {
				return nil, &SideError{Side: name, Reason: err}
			}
			return sided{opened, name}, nil
		}}
	}
	c.Sort.See = func(input int, items []source.Item) {
		for _, s := range r.Strays {
			if s.Side != c.Sides[c.Inputs[input].Side] {
				continue
			}
			s.ReadAt(c.Clock.Wall()) // after the ids were read, and so after they were issued
			for _, item := range items {
				s.Add(item.ID)
			}
		}
	}
	sorted, err := idsort.Sort(ctx, inputs, c.Sort)
	if err != nil {
		return err
	}
	tally := NewTally(c.Sides, len(inputs), c.Shown)
	err = sorted.Each(ctx, func(items []source.Item) error {
		for _, item := range items {
			input, at := sorted.Stand(item.At)
			tally.Add(item.ID, Stand{Side: c.Inputs[input].Side, Source: input, At: at})
		}
		return nil
	})
	tally.End()
	if err := cmp.Or(err, sorted.Close()); err != nil {
		return err
	}
	c.fill(r, tally, sorted.Inputs)
	return nil
}

// fill adds to a report what was read.
func (c Config) fill(r *Report, tally *Tally, inputs []*idsort.Seen) {
	for n, in := range inputs {
		side := &r.Sides[c.Inputs[n].Side]
		side.IDs += in.IDs
		s := &SourceReport{Source: in.Name(), IDs: in.IDs, ClashingRows: tally.RowsIn[n], Rounded: in.Rounding.Text()}
		s.Skipped, s.Invalid = in.Skipped()
		side.Sources = append(side.Sources, s)
	}
	for n := range r.Sides {
		s := &r.Sides[n]
		s.Clashing, s.ClashingRows, s.Twice, s.RowsTwice = tally.Of[n], tally.RowsOf[n], tally.Twice[n], tally.RowsTwice[n]
	}
	for _, clash := range tally.First {
		for n := range clash.Stands {
			s := &clash.Stands[n]
			s.SideName, s.SourceName, s.Place = c.Sides[s.Side], inputs[s.Source].Name(), inputs[s.Source].Place(s.At)
		}
	}
	if slices.ContainsFunc(c.Inputs, func(in Input) bool { return in.Side != c.Inputs[0].Side }) {
		r.Data = &tally.Data
	}
}

// sided is a source whose errors name its side.
type sided struct {
	source.Source
	side string
}

func (s sided) Read(ctx context.Context, items []source.Item) (int, error) {
	n, err := s.Source.Read(ctx, items)
	if err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
		err = &SideError{Side: s.side, Reason: err}
	}
	return n, err
}
