package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/bwmarrin/snowflake"

	"snowfence.example/snowfence"
)

// perMillisecond is the twitter layout's cap: 12 bits of sequence a tick.
const perMillisecond = 4096

// fullRate measures how close to the layout's cap greedy callers get, the processor time of it, and the
// longest call. It returns the goals that were missed.
func fullRate(lasts time.Duration) (missed []string, err error) {
	twitter, err := snowfence.PresetByName("twitter")
	if err != nil {
		return nil, err
	}
	fmt.Printf("\n# Full rate of the twitter layout, %d ids a ms, kept up for %s\n\n", perMillisecond, lasts)
	fmt.Printf("%-34s %12s %8s %8s %12s\n", "", "ids a s", "of cap", "cores", "longest call")
	for _, callers := range []int{1, 16} {
		g, err := snowfence.NewGenerator(snowfence.GeneratorConfig{Layout: twitter.Layout, Worker: new(int64), Until: twitter.Layout.HorizonTick()})
		if err != nil {
			return nil, err
		}
		failed, err := keepUp("snowfence", callers, lasts, func() error { _, err := g.Next(context.Background()); return err })
		if err != nil {
			return nil, err
		}
		missed = append(missed, failed...)
		snowflake.NodeBits, snowflake.StepBits, snowflake.Epoch = 10, 12, 1288834974657
		node, err := snowflake.NewNode(1)
		if err != nil {
			return nil, err
		}
		if _, err := keepUp("bwmarrin", callers, lasts, func() error { node.Generate(); return nil }); err != nil {
			return nil, err
		}
	}
	return missed, nil
}

// The goals of the full rate: at least this part of the cap, for at most this part of a core.
const (
	leastOfCap = 0.97
	mostCores  = 0.25
)

// keepUp runs callers that take ids as fast as they can: first without looking at the clock,
// in ten parts, for the rate and its cost, and then half as long with every call timed, for the
// longest. The goals are Snowfence's. It returns the missed goals.
func keepUp(name string, callers int, lasts time.Duration, call func() error) (missed []string, err error) {
	const parts = 10
	var caps, cores []float64
	for range parts {
		before := processorTime()
		rate, _, err := run(callers, lasts/parts, 64, call)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		caps = append(caps, rate/(perMillisecond*1000))
		cores = append(cores, (processorTime()-before).Seconds()/(lasts/parts).Seconds())
	}
	_, longest, err := run(callers, lasts/2, 1, call)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	title := fmt.Sprintf("%s, %d goroutines", name, callers)
	ofCap, capNoise := settle(caps)
	used, usedNoise := settle(cores)
	ok := name != "snowfence" || ofCap+capNoise >= leastOfCap && used-usedNoise <= mostCores
	fmt.Printf("%-34s %12.0f %7.1f%% %8.2f %12s%s\n", title,
		ofCap*perMillisecond*1000, 100*ofCap, used, longest.Round(10*time.Microsecond), verdict(ok))
	if !ok {
		missed = append(missed, fmt.Sprintf("%s: %.1f%% ± %.1f of the cap, must be at least %.0f%%; %.2f ± %.2f cores, must be at most %.2f",
			title, 100*ofCap, 100*capNoise, 100*leastOfCap, used, usedNoise, mostCores))
	}
	return missed, nil
}

// run returns the ids a second that the callers made in all, and the longest
// time between two looks at the clock, which they take every so many calls.
func run(callers int, lasts time.Duration, every int, call func() error) (rate float64, longest time.Duration, err error) {
	var mu sync.Mutex // guards the results
	ids := 0
	start := time.Now()
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			made, slowest, failed := keepCalling(start, lasts, every, call)
			mu.Lock()
			defer mu.Unlock()
			ids, longest, err = ids+made, max(longest, slowest), errors.Join(err, failed)
		})
	}
	group.Wait()
	return float64(ids) / time.Since(start).Seconds(), longest, err
}

// keepCalling is run by one caller.
func keepCalling(start time.Time, lasts time.Duration, every int, call func() error) (ids int, longest time.Duration, err error) {
	for last := start; last.Sub(start) < lasts; {
		for range every {
			if err := call(); err != nil {
				return ids, longest, err
			}
		}
		ids += every
		now := time.Now()
		longest, last = max(longest, now.Sub(last)), now
	}
	return ids, longest, nil
}

// processorTime returns the time that this process has used, of all cores.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails for other processes alone
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
