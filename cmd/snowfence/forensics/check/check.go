package check

import (
	"cmp"
	"context"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
)

// Config sets how ids are checked.
type Config struct {
	// Sort sets how the ids are sorted.
	Sort idsort.Config
	// Layout is that of the ids, and Preset its name, or empty. Nil means that the layout
	// is guessed among the presets.
	Layout *snowfence.Layout
	Preset string
	// Limit is how many duplicates are named. Zero means none.
	Limit int
	// Now is the present time. It separates plausible times from others.
	Now time.Time
}

// checker is one run of a check.
type checker struct {
	Config
	*idsort.Sorted // nil while ids are read
	watcher        watcher
	looked         bool // whether a layout was looked for
}

// Run reads the inputs one after the other. It returns the errors of [idsort.Sort].
func Run(ctx context.Context, inputs []idsort.Input, cfg Config) (Report, error) {
	c := &checker{Config: cfg}
	cfg.Sort.See = func(input int, items []idsort.Item) {
		c.settleLayout(items)
		c.watcher.see(input, items)
	}
	sorted, err := idsort.Sort(ctx, inputs, cfg.Sort)
	if err != nil {
		return Report{}, err
	}
	c.Sorted = sorted
	j := &judge{checker: c, subjects: map[subject]*pairs{}, lines: map[line]*course{}, all: map[[2]int]*between{}}
	var groups []int // each input is one
	for i := range inputs {
		groups = append(groups, i)
	}
	t := NewTally(sorted, groups, false, cfg.Limit)
	t.pair = j.add
	if err := cmp.Or(sorted.Each(ctx, t.Add), sorted.Close()); err != nil {
		return Report{}, err
	}
	t.End()
	return c.report(t, j.causes()), nil
}

// where turns a position into a place.
func (c *checker) where(at uint64) Place {
	input, in := c.Stand(at)
	return Place{Source: c.name(input), At: in, Text: c.Inputs[input].Place(in)}
}

func (c *checker) name(input int) string { return c.Inputs[input].Name() }
