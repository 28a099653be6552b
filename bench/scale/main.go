// Command scale measures the cost of a namespace for its store: how fast a crowd of
// processes that start at once find worker ids in a pool that is more or less
// full, how many requests a holder makes, and the cost of a claim in a namespace of a million worker
// ids.
//
//	GOWORK=off go run ./scale
//
// It runs the driver that ships, package drive, in hundreds of processes of
// it, in one goroutine and in virtual time. The registers are the reference
// store's; the network and the engine are a model of three numbers: the time
// on the way, and the time in which the engine, which does one thing after the
// other, serves a request and each register of a list. So the counts are exact for the protocol, and
// the times are as good as the three numbers. docs/scale.md shows and explains its output.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"snowfence.example/snowfence/bench/serving"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

func main() {
	var e engine
	flag.DurationVar(&e.way, "way", time.Millisecond, "a request's time on the network, there and back")
	flag.DurationVar(&e.request, "request", 100*time.Microsecond, "the engine's time for a get or a swap")
	flag.DurationVar(&e.entry, "entry", 2*time.Microsecond, "the engine's time for each register of a list")
	crowdSize := flag.Int("processes", 1000, "processes that start at once")
	flag.Parse()
	fmt.Printf("a model: %s on the way, %s a request, %s a register listed\n", e.way, e.request, e.entry)
	serving.Exit("scale", starts(e, *crowdSize), holders(e), million(e))
}

// starts lets a crowd start at once on a pool of 1,024 that is more or less full of live holders.
func starts(e engine, crowdSize int) error {
	const pool = 1024
	fmt.Printf("\n# %d processes start at once on a pool of %d\n\n", crowdSize, pool)
	fmt.Printf("%47s%s%24s\n", "", "requests a claim", "waiting, a minute each")
	fmt.Printf("%8s %6s %9s %9s %11s%8s%8s%8s%8s%12s%12s\n", "occupied", "free", "half", "last", "claims a s",
		"gets", "swaps", "lost", "lists", "requests", "registers")
	for _, percent := range []int{10, 50, 90, 99} {
		c := newCrowd(e, 10, uint64(percent))
		occupied := pool * percent / 100
		if err := c.settle(occupied); err != nil {
			return err
		}
		free, begun := min(pool-occupied, crowdSize), c.agenda.Now()
		if err := c.join(crowdSize, 0); err != nil {
			return err
		}
		c.agenda.Until(begun+time.Minute, func() bool { return c.holding == occupied+free })
		if c.holding != occupied+free {
			return fmt.Errorf("at %d %% only %d of %d claimed within a minute", percent, c.holding-occupied, free)
		}
		var claimed []time.Duration
		for _, p := range c.processes[occupied:] {
			if p.holding {
				claimed = append(claimed, p.since-begun)
			}
		}
		slices.Sort(claimed)
		last := claimed[len(claimed)-1]
		all := asked(c.processes[occupied:])
		per := func(n int) float64 { return float64(n) / float64(free) }
		fmt.Printf("%6d %% %6d %9s %9s %11.0f%8.1f%8.2f%8.2f%8.1f",
			percent, pool-occupied, claimed[len(claimed)/2].Round(time.Millisecond), last.Round(time.Millisecond),
			float64(free)/last.Seconds(), per(all.gets), per(all.swaps), per(all.conflicts), per(all.lists))
		if crowdSize > free {
			// The cost of waiting for processes without a worker id, in the next half minute.
			var waiting []*process
			for _, p := range c.processes[occupied:] {
				if !p.holding {
					waiting = append(waiting, p)
				}
			}
			had := asked(waiting)
			c.agenda.Until(c.agenda.Now()+30*time.Second, func() bool { return false })
			more := asked(waiting).plus(had, -1)
			n := float64(len(waiting)) / 2
			fmt.Printf("%12.1f%12.0f", float64(more.requests())/n, float64(more.entries)/n)
		}
		fmt.Println()
	}
	return nil
}

// settle makes a crowd of that many holders, which have joined one after the other.
func (c *crowd) settle(n int) error {
	const apart = 20 * time.Millisecond
	if err := c.join(n, apart); err != nil {
		return err
	}
	c.agenda.Until(c.agenda.Now()+time.Duration(n)*apart+time.Minute, func() bool { return c.holding == n })
	if c.holding != n {
		return fmt.Errorf("settle: %d of %d hold a worker id", c.holding, n)
	}
	return nil
}

// holders counts the requests of holders in peace.
func holders(e engine) error {
	const n, minutes = 100, 10
	fmt.Printf("\n# A holder in peace, window 60 s\n\n")
	for _, loss := range []time.Duration{0, 15 * time.Second} {
		c := newCrowd(e, 10, 1)
		c.loss = loss
		if err := c.settle(n); err != nil {
			return err
		}
		had := asked(c.processes)
		c.agenda.Until(c.agenda.Now()+minutes*time.Minute, func() bool { return false })
		all := asked(c.processes).plus(had, -1)
		per := func(count int) float64 { return float64(count) / n / minutes }
		fmt.Printf("store that can lose %3s: requests a minute: %.2f (swaps %.2f, gets %.2f, lists %.2f)\n",
			loss, per(all.requests()), per(all.swaps), per(all.gets), per(all.lists))
	}
	return nil
}

// million counts the cost of claims in a namespace of 2^20 worker ids. Registers exist only for worker
// ids that were ever claimed.
func million(e engine) error {
	fmt.Printf("\n# A namespace of 1,048,576 worker ids, %d claims\n\n", 100)
	for _, held := range []int{0, 10_000, 100_000} {
		c := newCrowd(e, 20, uint64(held))
		if err := c.plant(held); err != nil {
			return err
		}
		had, from := asked(c.processes), c.agenda.Now()
		if err := c.join(100, 0); err != nil {
			return err
		}
		c.agenda.Until(from+time.Minute, func() bool { return c.holding == 100 })
		all := asked(c.processes).plus(had, -1)
		per := func(n int) float64 { return float64(n) / 100 }
		fmt.Printf("%7d held: %.2f gets, %.2f swaps, %.2f lists, %.1f registers listed a claim; the last after %s\n",
			held, per(all.gets), per(all.swaps), per(all.lists), per(all.entries), (c.agenda.Now() - from).Round(time.Millisecond))
	}
	return nil
}

// plant makes the namespace, and that many registers of holders elsewhere.
func (c *crowd) plant(n int) error {
	if err := c.settle(1); err != nil {
		return err
	}
	c.holding = 0
	ctx := context.Background()
	record, err := c.client.Get(ctx, stored.NamespaceKey(stored.DefaultNamespace))
	if err != nil {
		return err
	}
	namespace, err := stored.DecodeNamespace(record.Value)
	if err != nil {
		return err
	}
	until := c.layout.TickAt(c.Wall().Add(time.Hour))
	for _, worker := range c.random.Perm(int(c.layout.Workers()))[:n] {
		value, err := stored.Register{
			Layout: namespace.Layout, Incarnation: namespace.Incarnation, Term: 1, Until: until,
			Holder: strings.Repeat("ab", 16), Write: strings.Repeat("cd", 8), Clock: c.Wall(), Window: time.Minute,
		}.Encode()
		if err != nil {
			return err
		}
		_, err = c.client.Swap(ctx, stored.RegisterKey(stored.DefaultNamespace, c.layout, int64(worker)), "", value)
		if err != nil && !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return nil
}
