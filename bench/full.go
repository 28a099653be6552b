package main

import (
	"context"
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

// fullRate measures how close to the layout's cap callers get that want as
// much as they can, what that costs in processor time, and how long the
// unluckiest call took.
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
		ctx := context.Background()
		if err := keepUp("snowfence", callers, lasts, func() error { _, err := g.Next(ctx); return err }); err != nil {
			return err
		}
	}
	for _, callers := range []int{1, 16} {
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

// keepUp runs callers that take ids as fast as they can: first without looking
// at the clock, for the rate and what it costs, and then once more, half as
// long, with every call timed, for the longest.
func keepUp(name string, callers int, lasts time.Duration, call func() error) error {
	before, err := processorTime()
	if err != nil {
		return err
	}
	rate, _, err := run(callers, lasts, 64, call)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	after, err := processorTime()
	if err != nil {
		return err
	}
	cores := (after - before).Seconds() / lasts.Seconds()
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
	type tally struct {
		ids     int
		longest time.Duration
		err     error
	}
	tallies := make([]tally, callers)
	start := time.Now()
	var group sync.WaitGroup
	for i := range tallies {
		group.Go(func() {
			t := &tally{}
			defer func() { tallies[i] = *t }()
			for last := start; last.Sub(start) < lasts; {
				for range every {
					if t.err = call(); t.err != nil {
						return
					}
				}
				t.ids += every
				now := time.Now()
				t.longest = max(t.longest, now.Sub(last))
				last = now
			}
		})
	}
	group.Wait()
	took := time.Since(start)
	ids := 0
	for _, t := range tallies {
		if t.err != nil {
			return 0, 0, t.err
		}
		ids, longest = ids+t.ids, max(longest, t.longest)
	}
	return float64(ids) / took.Seconds(), longest, nil
}

// processorTime returns the time that this process has used, of all cores.
func processorTime() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("read processor time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
