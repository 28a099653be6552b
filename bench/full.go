package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/bwmarrin/snowflake"
	"github.com/sony/sonyflake/v2"

	"snowfence.example/snowfence"
)

// perMillisecond is the twitter layout's cap: 12 bits of sequence a tick.
const perMillisecond = 4096

// fullRate measures how close to the layout's cap greedy callers get, what that costs in
// processor time, and how long the unluckiest call took.
func fullRate(lasts time.Duration) error {
	twitter, err := snowfence.PresetByName("twitter")
	if err != nil {
		return err
	}
	fmt.Printf("\n# Full rate of the twitter layout, %d ids a ms, kept up for %s\n\n", perMillisecond, lasts)
	fmt.Printf("%-34s %12s %8s %8s %12s\n", "", "ids a s", "of cap", "cores", "longest call")
	for _, callers := range []int{1, 16} {
		g, err := snowfence.NewUnfencedGenerator(snowfence.GeneratorConfig{Layout: twitter.Layout, Worker: new(int64)})
		if err != nil {
			return err
		}
		if err := keepUp("snowfence", callers, lasts, func() error { _, err := g.Next(context.Background()); return err }); err != nil {
			return err
		}
		snowflake.NodeBits, snowflake.StepBits, snowflake.Epoch = 10, 12, 1288834974657
		node, err := snowflake.NewNode(1)
		if err != nil {
			return err
		}
		if err := keepUp("bwmarrin", callers, lasts, func() error { node.Generate(); return nil }); err != nil {
			return err
		}
	}
	sony, err := sonyflake.New(sonyflake.Settings{
		BitsSequence: 12, BitsMachineID: 10, TimeUnit: time.Millisecond,
		StartTime: time.UnixMilli(1735689600000),
		MachineID: func() (int, error) { return 1, nil },
	})
	if err != nil {
		return err
	}
	return keepUp("sonyflake", 16, lasts, func() error { _, err := sony.NextID(); return err })
}

// keepUp runs callers that take ids as fast as they can: first without looking at the clock,
// for the rate and its cost, and then half as long with every call timed, for the longest.
func keepUp(name string, callers int, lasts time.Duration, call func() error) error {
	before := processorTime()
	rate, _, err := run(callers, lasts, 64, call)
	cores := (processorTime() - before).Seconds() / lasts.Seconds()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	_, longest, err := run(callers, lasts/2, 1, call)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	line := fmt.Sprintf("%-34s %12.0f %7.1f%% %8.2f %12s", fmt.Sprintf("%s, %d goroutines", name, callers),
		rate, 100*rate/(perMillisecond*1000), cores, longest.Round(10*time.Microsecond))
	if name == "snowfence" {
		line += verdict(rate >= 0.97*perMillisecond*1000 && cores <= 0.25)
	}
	fmt.Println(line)
	return nil
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
