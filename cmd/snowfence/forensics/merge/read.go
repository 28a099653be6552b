package merge

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
	"snowfence.example/snowfence/cmd/snowfence/forensics/source"
)

// read reads all ids, and counts them.
func (c Config) read(ctx context.Context, r *Report) error {
	side := "" // of the source that is being read
	inputs := make([]idsort.Input, len(c.Inputs))
	for n, in := range c.Inputs {
		inputs[n] = idsort.Input{Size: in.Size, Open: func(ctx context.Context) (source.Source, error) {
			side = c.Sides[in.Side]
			return in.Open(ctx)
		}}
	}
	sorted, err := idsort.Sort(ctx, inputs, c.Sort)
	switch {
	case err == nil:
	case side == "", errors.As(err, new(*idsort.FullError)):
		return err
	default:
		return &SideError{Side: side, Reason: err}
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

// fill adds the sources and their clashes to a report.
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
		s.Clashing, s.ClashingRows, s.Twice = tally.Of[n], tally.RowsOf[n], tally.Twice[n]
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
