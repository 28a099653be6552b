package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/snowflake"
	gofrs "github.com/gofrs/uuid/v5"
	google "github.com/google/uuid"

	"snowfence.example/snowfence"
)

// contender is one way to make ids, by one goroutine or two.
type contender struct {
	name    string
	workers int
	batch   int     // ids a call
	peer    int     // index of the contender that the ratio refers to
	goal    float64 // the ratio aimed at; 0 for none
	make    func() (run func(n int) error, err error)
}

// speed measures what an id costs when nothing has to be waited for.
func speed(rounds int, each time.Duration) error {
	contenders := []contender{
		{name: "bwmarrin, one goroutine", workers: 1, batch: 1, peer: 0, make: bwmarrin},
		{name: "bwmarrin, two goroutines", workers: 2, batch: 1, peer: 1, make: bwmarrin},
		{name: "Next, one goroutine", workers: 1, batch: 1, peer: 0, goal: 1.0, make: next},
		{name: "Next, two goroutines", workers: 2, batch: 1, peer: 1, goal: 0.55, make: next},
		{name: "Fill of 64", workers: 1, batch: 64, peer: 0, goal: 0.03, make: fill(64)},
		{name: "Fill of 1,000", workers: 1, batch: 1000, peer: 0, goal: 0.015, make: fill(1000)},
		{name: "NextWide, no random bits", workers: 1, batch: 1, peer: 2, goal: 1.3, make: nextWide(wideLike)},
		{name: "NextWide, UUID, 20-bit seq", workers: 1, batch: 1, peer: 2, goal: 1.3, make: nextWide(wideUUID)},
		{name: "NextWide, uuid8, 4,096 a ms", workers: 1, batch: 1, peer: 2, make: nextWide("uuid8")},
		{name: "FillWide of 64, no random", workers: 1, batch: 64, peer: 2, make: fillWide(wideBatch, 64)},
		{name: "FillWide of 1,000, no random", workers: 1, batch: 1000, peer: 2, make: fillWide(wideBatch, 1000)},
		{name: "FillWide of 64, UUID", workers: 1, batch: 64, peer: 2, make: fillWide(wideUUID, 64)},
		{name: "FillWide of 1,000, UUID", workers: 1, batch: 1000, peer: 2, make: fillWide(wideUUID, 1000)},
		{name: "google/uuid, version 7", workers: 1, batch: 1, peer: 2, make: googleV7},
		{name: "gofrs/uuid, version 7", workers: 1, batch: 1, peer: 2, make: gofrsV7},
		{name: "bare clock and add, one", workers: 1, batch: 1, peer: 0, make: bare(true)},
		{name: "bare clock and add, two", workers: 2, batch: 1, peer: 1, make: bare(true)},
		{name: "bare add, two", workers: 2, batch: 1, peer: 1, make: bare(false)},
	}
	fmt.Printf("\n# Cost of an id, ns (%d interleaved rounds of %s)\n\n", rounds, each)
	runs := make([][]float64, len(contenders))
	for range rounds {
		for i, c := range contenders {
			ns, err := c.measure(each)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			runs[i] = append(runs[i], ns)
		}
	}
	for i, c := range contenders {
		fmt.Printf("%-28s", c.name)
		for _, ns := range runs[i] {
			fmt.Printf(" %7.2f", ns)
		}
		fmt.Println()
	}
	fmt.Printf("\n%-28s %9s %9s %9s  %s\n", "median", "ns an id", "ratio", "at most", "to")
	for i, c := range contenders {
		ns := median(runs[i])
		ratio := ns / median(runs[c.peer])
		goal := ""
		if c.goal != 0 {
			goal = fmt.Sprintf("%.3f", c.goal)
		}
		fmt.Printf("%-28s %9.2f %9.3f %9s  %s%s\n", c.name, ns, ratio, goal, contenders[c.peer].name, verdict(c.goal == 0 || ratio <= c.goal))
	}
	return nil
}

// measure returns the nanoseconds of wall time that an id costs all workers together.
func (c contender) measure(each time.Duration) (float64, error) {
	run, err := c.make()
	if err != nil {
		return 0, err
	}
	const warm = 20_000
	if err := run(warm/c.batch + 1); err != nil {
		return 0, err
	}
	// As many calls as fill the time, found by doubling.
	n := 1000
	for {
		took, err := c.timed(run, n)
		if err != nil {
			return 0, err
		}
		if took >= each/2 {
			return float64(took.Nanoseconds()) / float64(n*c.workers*c.batch), nil
		}
		n = int(float64(n) * min(100, max(1.5, 0.8*float64(each)/float64(took+1))))
	}
}

func (c contender) timed(run func(n int) error, n int) (time.Duration, error) {
	errs := make([]error, c.workers)
	var group sync.WaitGroup
	start := time.Now()
	for w := range c.workers {
		group.Go(func() { errs[w] = run(n) })
	}
	group.Wait()
	return time.Since(start), errors.Join(errs...)
}

// Every contender loops in its own code, so that the call is measured as a user writes it.

func bwmarrin() (func(int) error, error) {
	snowflake.NodeBits, snowflake.StepBits = 1, 21
	snowflake.Epoch = time.Now().UnixMilli() - 1000
	node, err := snowflake.NewNode(1)
	run := func(n int) error {
		for range n {
			node.Generate()
		}
		return nil
	}
	return run, err
}

// layout has as many bits of sequence as the peer, and one more for batches,
// which would otherwise use a millisecond's up.
func layout(sequenceBits int) snowfence.Layout {
	l := snowfence.DefaultLayout()
	l.Fields = []snowfence.Field{
		{Kind: snowfence.Time, Bits: 62 - sequenceBits},
		{Kind: snowfence.Worker, Bits: 1},
		{Kind: snowfence.Sequence, Bits: sequenceBits},
	}
	return l
}

func next() (func(int) error, error) {
	g, err := snowfence.NewUnfencedGenerator(snowfence.GeneratorConfig{Layout: layout(21), Worker: new(int64)})
	ctx := context.Background()
	run := func(n int) error {
		for range n {
			if _, err := g.Next(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	return run, err
}

func fill(n int) func() (func(int) error, error) {
	return func() (func(int) error, error) {
		g, err := snowfence.NewUnfencedGenerator(snowfence.GeneratorConfig{Layout: layout(22), Worker: new(int64)})
		ids := make([]snowfence.ID, n)
		ctx := context.Background()
		run := func(n int) error {
			for range n {
				if err := g.Fill(ctx, ids); err != nil {
					return err
				}
			}
			return nil
		}
		return run, err
	}
}

// The wide layouts. The first two have as many bits of sequence as those of Next and of Fill. The
// UUID has 20, so that it waits for a tick no more than they do; the preset uuid8 has 12.
const (
	wideLike  = "wide-ms41-worker1-seq21"
	wideBatch = "wide-ms40-worker1-seq22"
	wideUUID  = "wide-ms48-version4-worker12-variant2-seq20-random42@1970-01-01"
)

func nextWide(layout string) func() (func(int) error, error) {
	return func() (func(int) error, error) {
		g, err := wide(layout)
		ctx := context.Background()
		run := func(n int) error {
			for range n {
				if _, err := g.NextWide(ctx); err != nil {
					return err
				}
			}
			return nil
		}
		return run, err
	}
}

func fillWide(layout string, n int) func() (func(int) error, error) {
	return func() (func(int) error, error) {
		g, err := wide(layout)
		ids := make([]snowfence.WideID, n)
		ctx := context.Background()
		run := func(n int) error {
			for range n {
				if err := g.FillWide(ctx, ids); err != nil {
					return err
				}
			}
			return nil
		}
		return run, err
	}
}

func wide(layout string) (*snowfence.Generator, error) {
	l, err := snowfence.ParseLayout(layout)
	if err != nil {
		return nil, err
	}
	return snowfence.NewUnfencedGenerator(snowfence.GeneratorConfig{Layout: l, Worker: new(int64)})
}

func googleV7() (func(int) error, error) {
	run := func(n int) error {
		for range n {
			if _, err := google.NewV7(); err != nil {
				return err
			}
		}
		return nil
	}
	return run, nil
}

func gofrsV7() (func(int) error, error) {
	run := func(n int) error {
		for range n {
			if _, err := gofrs.NewV7(); err != nil {
				return err
			}
		}
		return nil
	}
	return run, nil
}

// bare is the least that any generator pays that keeps one order among its callers and, if
// clock is set, reads the clock a call: one atomic add to a word that two processors share.
// How much that is depends on how fast a cache line moves between them.
func bare(clock bool) func() (func(int) error, error) {
	return func() (func(int) error, error) {
		var shared struct {
			_    [128]byte
			word atomic.Int64
			_    [128]byte
		}
		start := time.Now()
		run := func(n int) error {
			for range n {
				if clock && time.Since(start) < 0 {
					return errors.New("the clock went back")
				}
				shared.word.Add(1)
			}
			return nil
		}
		return run, nil
	}
}

func median(xs []float64) float64 {
	xs = slices.Sorted(slices.Values(xs))
	if n := len(xs); n%2 == 0 {
		return (xs[n/2-1] + xs[n/2]) / 2
	}
	return xs[len(xs)/2]
}

func verdict(ok bool) string {
	if ok {
		return ""
	}
	return "  missed"
}
