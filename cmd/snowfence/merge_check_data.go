package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/idsort"
	"snowfence.example/snowfence/cmd/snowfence/internal/idsource"
	"snowfence.example/snowfence/cmd/snowfence/internal/merge"
)

// mergeSource is a source of ids of a side, as it is read: each batch goes past the
// issuers on its way to where it is sorted.
type mergeSource struct {
	idsource.Source
	v       *merging
	side    int
	strays  []*merge.Strays
	rows    uint64
	skipped uint64
	invalid error // the first that was skipped, or nil
	place   func(at uint64) string
	name    string
}

// Read implements [idsource.Source].
func (s *mergeSource) Read(ctx context.Context, items []idsource.Item) (int, error) {
	n, err := s.Source.Read(ctx, items)
	var now time.Time
	if len(s.strays) > 0 {
		now = s.v.clock.Wall() // after the ids were read, and so after they were issued
	}
	for _, stray := range s.strays {
		stray.ReadAt(now)
		for _, item := range items[:n] {
			stray.Add(item.ID)
		}
	}
	s.rows += uint64(n)
	switch {
	case errors.Is(err, io.EOF):
		s.skipped, s.invalid = s.Source.Skipped()
	case err != nil && ctx.Err() == nil:
		err = s.v.sourceFault(s.v.sides[s.side].Name, err)
	}
	return n, err
}

// inputs are the sources of all sides, in their order.
func (v *merging) inputs() ([]idsort.Input, error) {
	var inputs []idsort.Input
	for n, side := range v.sides {
		for _, place := range v.data[n] {
			options, err := place.Options(v.defaults)
			if err != nil {
				return nil, usage(v.cmd, inSide(side.Name, err))
			}
			size, err := idsource.Look(place.Name, options)
			if err != nil {
				return nil, v.sourceFault(side.Name, err)
			}
			inputs = append(inputs, idsort.Input{Size: size, Open: func(ctx context.Context) (idsource.Source, error) {
				opened, err := idsource.Open(ctx, place.Name, options)
				if err != nil {
					return nil, v.sourceFault(side.Name, err)
				}
				s := &mergeSource{Source: opened, v: v, side: n, place: opened.Place, name: opened.Name()}
				for _, x := range v.strays {
					if x.Side == side.Name {
						s.strays = append(s.strays, x)
					}
				}
				v.sources = append(v.sources, s)
				return s, nil
			}})
		}
	}
	return inputs, nil
}

// readData reads all ids, and counts those that stand on several sides.
func (v *merging) readData(ctx context.Context) error {
	inputs, err := v.inputs()
	if err != nil || len(inputs) == 0 {
		return err
	}
	debug.SetMemoryLimit(idsort.Heap(v.sorting.memory))
	defer v.warnOfSkipped()
	if !v.comparable() {
		return v.readOnly(ctx, inputs)
	}
	progress := &idsort.Progress{}
	stop := v.watch(progress, v.sorting.progress)
	defer stop()
	sorted, err := idsort.Sort(ctx, inputs, idsort.Config{Memory: v.sorting.memory, Temp: v.sorting.temp, Progress: progress})
	if err != nil {
		return v.sortFault(ctx, err)
	}
	tally := merge.NewTally(len(v.sides), v.layouts(), v.sorting.limit)
	err = v.count(ctx, sorted, tally)
	if closeErr := sorted.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return v.sortFault(ctx, err)
	}
	v.tally = tally
	return nil
}

// comparable reports whether two sides or more have ids.
func (v *merging) comparable() bool {
	n := 0
	for _, side := range v.sides {
		if len(side.Data) > 0 {
			n++
		}
	}
	return n > 1
}

// readOnly reads ids that are only held against issuers: there is nothing to sort.
func (v *merging) readOnly(ctx context.Context, inputs []idsort.Input) error {
	items := make([]idsource.Item, 1<<13)
	for _, in := range inputs {
		source, err := in.Open(ctx)
		if err != nil {
			return err
		}
		for err == nil {
			_, err = source.Read(ctx, items)
		}
		if closeErr := source.Close(); errors.Is(err, io.EOF) {
			err = closeErr
		}
		if err != nil {
			return v.sortFault(ctx, err)
		}
	}
	return nil
}

// warnOfSkipped tells of what was no id.
func (v *merging) warnOfSkipped() {
	for _, s := range v.sources {
		if s.invalid != nil {
			v.warn(fmt.Sprintf("side %s: %s: %s skipped that %s, the first: %s", v.sides[s.side].Name, s.name, countOf(s.skipped, "thing"), numbered(s.skipped, "is no id", "are no ids"), message(s.invalid)))
		}
	}
}

// count hands the ids that stand somewhere twice to the tally, in order.
func (v *merging) count(ctx context.Context, sorted *idsort.Sorted, tally *merge.Tally) error {
	var before idsource.Item
	began, repeats := false, false
	add := func(item idsource.Item) {
		source, at := sorted.Stand(item.At)
		tally.Add(item.ID, merge.Stand{Side: v.sources[source].side, Source: source, At: at})
	}
	err := sorted.Each(ctx, func(items []idsource.Item) error {
		for _, item := range items {
			if !began || item.ID != before.ID {
				before, began, repeats = item, true, false
				continue
			}
			if !repeats {
				add(before)
			}
			add(item)
			repeats = true
		}
		return nil
	})
	tally.End()
	return err
}

// sortFault marks an error of sorting. Exit code 1 is a verdict, so what kept the
// ids from being compared has another.
func (*merging) sortFault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return unavailable(err)
}

// layoutOf is the layout of a side's ids, nil if none is known: that of who issues
// them, or else the one of --layout.
func (v *merging) layoutOf(side merge.Side) *snowfence.Layout {
	for _, i := range v.issuers {
		if i.Side == side.Name {
			return &i.Layout
		}
	}
	return v.layout
}

// layouts are those of the sides that have data, each once.
func (v *merging) layouts() []snowfence.Layout {
	var all []snowfence.Layout
	for _, side := range v.sides {
		l := v.layoutOf(side)
		if l == nil || len(side.Data) == 0 || slices.ContainsFunc(all, l.Equal) {
			continue
		}
		all = append(all, *l)
	}
	return all
}
