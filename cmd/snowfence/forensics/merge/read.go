package merge

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
	"snowfence.example/snowfence/cmd/snowfence/forensics/source"
)

// read reads all ids, and counts them.
func (c Config) read(ctx context.Context, r *Report) error {
	var taps []*tap
	inputs := make([]idsort.Input, len(c.Inputs))
	for n, in := range c.Inputs {
		inputs[n] = idsort.Input{Size: in.Size, Open: func(ctx context.Context) (source.Source, error) {
			side := &r.Sides[in.Side]
			opened, err := in.Open(ctx)
			if err != nil {
				return nil, &SideError{Side: side.Name, Reason: err}
			}
			t := &tap{Source: opened, clock: c.Clock, side: in.Side, report: side, source: &SourceReport{Source: opened.Name()}}
			for _, s := range r.Strays {
				if s.Side == side.Name {
					t.strays = append(t.strays, s)
				}
			}
			taps = append(taps, t)
			side.Sources = append(side.Sources, t.source)
			return t, nil
		}}
	}
	sorted, err := idsort.Sort(ctx, inputs, c.Sort)
	if err != nil {
		return err
	}
	tally := NewTally(c.Sides, len(taps), c.Shown)
	err = sorted.Each(ctx, func(items []source.Item) error {
		for _, item := range items {
			from, at := sorted.Stand(item.At)
			tally.Add(item.ID, Stand{Side: taps[from].side, Source: from, At: at})
		}
		return nil
	})
	tally.End()
	if err := cmp.Or(err, sorted.Close()); err != nil {
		return err
	}
	for n := range r.Sides {
		s := &r.Sides[n]
		s.Clashing, s.ClashingRows, s.Twice, s.RowsTwice = tally.Of[n], tally.RowsOf[n], tally.Twice[n], tally.RowsTwice[n]
	}
	for n, t := range taps {
		t.source.ClashingRows = tally.RowsIn[n]
	}
	for _, clash := range tally.First {
		for n := range clash.Stands {
			s := &clash.Stands[n]
			s.SideName, s.SourceName, s.Place = c.Sides[s.Side], taps[s.Source].source.Source, taps[s.Source].Place(s.At)
		}
	}
	if slices.ContainsFunc(c.Inputs, func(in Input) bool { return in.Side != c.Inputs[0].Side }) {
		r.Data = &tally.Data
	}
	return nil
}

// tap is a source of ids that are compared with the issuers on their way to the sorter.
type tap struct {
	source.Source
	clock    snowfence.Clock
	side     int
	report   *SideReport
	source   *SourceReport
	strays   []*Strays
	rounding source.Rounding
}

func (t *tap) Read(ctx context.Context, items []source.Item) (int, error) {
	n, err := t.Source.Read(ctx, items)
	for _, s := range t.strays {
		s.ReadAt(t.clock.Wall()) // after the ids were read, and so after they were issued
		for _, item := range items[:n] {
			s.Add(item.ID)
		}
	}
	t.rounding.Add(items[:n])
	t.report.IDs += uint64(n)
	t.source.IDs += uint64(n)
	switch {
	case errors.Is(err, io.EOF):
		t.source.Skipped, t.source.Invalid = t.Source.Skipped()
		t.source.Rounded = t.rounding.Text()
	case err != nil && ctx.Err() == nil:
		err = &SideError{Side: t.report.Name, Reason: err}
	}
	return n, err
}
