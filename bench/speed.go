package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/snowflake"
	gofrs "github.com/gofrs/uuid/v5"
	google "github.com/google/uuid"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/bench/contest"
)

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

// cost is the figure that is measured.
const cost = "ns an id"

// speed measures the cost of an id without waits, by one goroutine.
func speed(rounds int, each time.Duration) (missed, err error) {
	const googleOne, gofrsOne = "google/uuid, version 7", "gofrs/uuid, version 7"
	return contest.Contest{
		Title:  fmt.Sprintf("Cost of an id, runs of %s", each),
		Rounds: rounds,
		Contenders: []contest.Contender{
			contender(peerOne, 1, each, bwmarrin),
			contender(bareOne, 1, each, bare),
			contender(nextOne, 1, each, next),
			contender(fill64, 64, each, fill(64)),
			contender(fill1000, 1000, each, fill(1000)),
			contender(wideOne, 1, each, nextWide(wideLike)),
			contender(uuidOne, 1, each, nextWide(wideUUID)),
			contender(googleOne, 1, each, googleV7),
			contender(gofrsOne, 1, each, gofrsV7),
		},
		Goals: []contest.Goal{
			{Figure: cost, Name: nextOne, Peer: bareOne, Most: 1.10},
			{Figure: cost, Name: nextOne, Peer: peerOne, Most: 1.0},
			{Figure: cost, Name: fill64, Peer: peerOne, Most: 0.030},
			{Figure: cost, Name: fill1000, Peer: peerOne, Most: 0.012},
			{Figure: cost, Name: wideOne, Peer: nextOne, Most: 1.3},
			{Figure: cost, Name: uuidOne, Peer: nextOne, Most: 1.3},
			{Figure: cost, Name: googleOne, Peer: nextOne},
			{Figure: cost, Name: gofrsOne, Peer: nextOne},
		},
	}.Run(context.Background())
}

// contender is one way to make ids, by calls that make some each.
func contender(name string, batch int, each time.Duration, prepare func() (run func(n int) error, err error)) contest.Contender {
	return contest.Contender{Name: name, Run: func(context.Context) (contest.Sample, error) {
		ns, err := measure(batch, each, prepare)
		return contest.Sample{cost: ns}, err
	}}
}

// measure returns the nanoseconds of wall time that an id costs.
func measure(batch int, each time.Duration, prepare func() (run func(n int) error, err error)) (float64, error) {
	run, err := prepare()
	if err != nil {
		return 0, err
	}
	const warm = 20_000
	if err := run(warm/batch + 1); err != nil {
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
			return float64(took.Nanoseconds()) / float64(n*batch), nil
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
