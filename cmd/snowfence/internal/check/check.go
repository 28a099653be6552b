package check

import (
	"cmp"
	"context"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
	idsource "snowfence.example/snowfence/cmd/snowfence/forensics/source"
)

// Config says how ids are checked.
type Config struct {
	// Memory, Temp, Progress and Sizes are those of [idsort.Config].
	Memory   int64
	Temp     string
	Progress *idsort.Progress
	Sizes    idsort.Sizes
	// Layout is that of the ids. Nil means that it is guessed among the presets.
	Layout *snowfence.Layout
	// Preset is the name of Layout, or empty.
	Preset string
	// Limit is how many duplicates and ranges are named. Zero means none.
	Limit int
	// Now is the present time, for what is plausible.
	Now time.Time
}

// checker is one run of a check.
type checker struct {
	Config
	observer observer
	guess    guess                      // of the layout, if it was not named
	looked   bool                       // whether a layout was looked for
	opened   []idsource.Source          // closed by now, most of them; they still know places
	stand    func(uint64) (int, uint64) // see [idsort.Sorted.Stand]
}

// Run reads the inputs one after the other. It returns the errors of [idsort.Sort].
func Run(ctx context.Context, inputs []idsort.Input, cfg Config) (Report, error) {
	c := &checker{Config: cfg}
	watched := make([]idsort.Input, len(inputs))
	for i, in := range inputs {
		watched[i] = idsort.Input{Size: in.Size, Open: func(ctx context.Context) (idsource.Source, error) {
			source, err := in.Open(ctx)
			c.opened = append(c.opened, source)
			return source, err
		}}
	}
	sorted, err := idsort.Sort(ctx, watched, idsort.Config{Memory: cfg.Memory, Temp: cfg.Temp, Progress: cfg.Progress, Sizes: cfg.Sizes, See: c.see})
	if err != nil {
		return Report{}, err
	}
	c.stand = sorted.Stand
	c.doubt()
	t := newTally(c)
	if err := cmp.Or(sorted.Each(ctx, t.add), sorted.Close()); err != nil {
		return Report{}, err
	}
	report := t.end()
	report.Spilled = sorted.Spilled()
	return report, nil
}

// see watches what is read.
func (c *checker) see(input int, items []idsort.Item) {
	c.settleLayout(items)
	if input == len(c.observer.sources) {
		c.observer.begin()
	}
	c.observer.see(c.observer.sources[input], items)
}

// source is which source a position is of.
func (c *checker) source(at uint64) int {
	source, _ := c.stand(at)
	return source
}

// where turns a position into a place.
func (c *checker) where(at uint64) Place {
	source, in := c.stand(at)
	return Place{Source: c.name(source), At: in, Text: c.opened[source].Place(in)}
}

func (c *checker) name(source int) string { return c.opened[source].Name() }
