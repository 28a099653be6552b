package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/snowflake"
	gofrs "github.com/gofrs/uuid/v5"
	google "github.com/google/uuid"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/bench/serving"
)

// contender is one way to make ids, by one goroutine.
type contender struct {
	name  string
	batch int    // ids a call
	peer  string // the contender that the printed ratio refers to
	make  func() (run func(n int) error, err error)
}

// The names of the contenders that goals are about.
const (
	peerOne  = "bwmarrin"
	nextOne  = "Next"
	fill64   = "Fill of 64"
	fill1000 = "Fill of 1,000"
	wideOne  = "NextWide, no random bits"
	uuidOne  = "NextWide, UUID, 20-bit seq"
	bareOne  = "bare clock and add"
)

// A goal says how much an id may cost, as a ratio to a peer.
type goal struct {
	name, peer string
	most       float64
}

func goals() []goal {
	return []goal{
		{nextOne, bareOne, 1.10},
		{nextOne, peerOne, 1.0},
		{fill64, peerOne, 0.030},
		{fill1000, peerOne, 0.012},
		{wideOne, nextOne, 1.3},
		{uuidOne, nextOne, 1.3},
	}
}

func contenders() []contender {
	return []contender{
		{peerOne, 1, peerOne, bwmarrin},
		{bareOne, 1, peerOne, bare},
		{nextOne, 1, peerOne, next},
		{fill64, 64, peerOne, fill(64)},
		{fill1000, 1000, peerOne, fill(1000)},
		{wideOne, 1, nextOne, nextWide(wideLike)},
		{uuidOne, 1, nextOne, nextWide(wideUUID)},
		{"google/uuid, version 7", 1, nextOne, googleV7},
		{"gofrs/uuid, version 7", 1, nextOne, gofrsV7},
	}
}

// speed measures the cost of an id without waits. It returns the goals that
// were missed.
func speed(rounds int, each time.Duration) (missed []string, err error) {
	all := contenders()
	fmt.Printf("\n# Cost of an id, ns (%d interleaved rounds of %s)\n\n", rounds, each)
	runs := make(map[string][]float64)
	for range rounds {
		for _, c := range all {
			ns, err := c.measure(each)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			runs[c.name] = append(runs[c.name], ns)
		}
	}
	fmt.Printf("%-28s %9s %9s  %s\n", "median", "ns an id", "ratio", "to")
	for _, c := range all {
		ratio, _ := compare(runs[c.name], runs[c.peer])
		fmt.Printf("%-28s %9.2f %9.3f  %s\n", c.name, serving.Median(runs[c.name]), ratio, c.peer)
	}
	fmt.Printf("\n%-28s %9s %9s %9s  %s\n", "goal", "ratio", "noise", "at most", "to")
	for _, g := range goals() {
		ratio, noise := compare(runs[g.name], runs[g.peer])
		ok := ratio-noise <= g.most
		if !ok {
			missed = append(missed, fmt.Sprintf("%s: %.3f of %s, must be at most %.3f; the noise is %.3f", g.name, ratio, g.peer, g.most, noise))
		}
		fmt.Printf("%-28s %9.3f %9.3f %9.3f  %s%s\n", g.name, ratio, noise, g.most, g.peer, verdict(ok))
	}
	return missed, nil
}

// compare returns the median of the ratios of two contenders, round by round, and its noise. The
// two ran within one round, so load that comes and goes is in both.
func compare(ours, peers []float64) (ratio, noise float64) {
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = ours[i] / peers[i]
	}
	return settle(ratios)
}

// settle returns the median and its noise: two standard errors of it. A median's standard error is
// 1.253 standard deviations by the root of n, and an interquartile range is 1.349 deviations.
func settle(xs []float64) (middle, noise float64) {
	sorted := slices.Sorted(slices.Values(xs))
	n := len(sorted)
	spread := sorted[3*n/4] - sorted[n/4]
	return serving.Median(xs), 2 * 1.253 / 1.349 * spread / math.Sqrt(float64(n))
}

// measure returns the nanoseconds of wall time that an id costs.
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
		start := time.Now()
		if err := run(n); err != nil {
			return 0, err
		}
		took := time.Since(start)
		if took >= each/2 {
			return float64(took.Nanoseconds()) / float64(n*c.batch), nil
		}
		n = int(float64(n) * min(100, max(1.5, 0.8*float64(each)/float64(took+1))))
	}
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

func unfenced(l snowfence.Layout) (*snowfence.Generator, error) {
	return snowfence.NewGenerator(snowfence.GeneratorConfig{Layout: l, Worker: new(int64), Until: l.HorizonTick()})
}

func next() (func(int) error, error) {
	g, err := unfenced(layout(21))
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
		g, err := unfenced(layout(22))
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

// The wide layouts. The first has as many bits of sequence as the runs of Next. The UUID has 20, so that
// it waits for a tick no more than they do; the preset uuid8 has 12.
const (
	wideLike = "wide-ms41-worker1-seq21"
	wideUUID = "wide-ms48-version4-worker12-variant2-seq20-random42@1970-01-01"
)

func nextWide(layout string) func() (func(int) error, error) {
	return func() (func(int) error, error) {
		l, err := snowfence.ParseLayout(layout)
		if err != nil {
			return nil, err
		}
		g, err := unfenced(l)
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

// bare is the least that any generator pays that keeps one order among its callers and reads the
// clock a call: one atomic add.
func bare() (func(int) error, error) {
	var shared struct {
		_    [128]byte
		word atomic.Int64
		_    [128]byte
	}
	start := time.Now()
	run := func(n int) error {
		for range n {
			if time.Since(start) < 0 {
				return errors.New("the clock went back")
			}
			shared.word.Add(1)
		}
		return nil
	}
	return run, nil
}

func verdict(ok bool) string {
	if ok {
		return ""
	}
	return "  missed"
}
