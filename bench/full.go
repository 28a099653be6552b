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
		g, err := snowfence.NewGenerator(snowfence.GeneratorConfig{Layout: twitter.Layout, Worker: 1})
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

func keepUp(name string, callers int, lasts time.Duration, call func() error) error {
	type tally struct {
		ids     int64
		longest time.Duration
		err     error
	}
	tallies := make([]tally, callers)
	before, err := processorTime()
	if err != nil {
		return err
	}
	start := time.Now()
	var group sync.WaitGroup
	for i := range tallies {
		group.Go(func() {
			t := &tally{}
			defer func() { tallies[i] = *t }()
			// The clock is read once in 64 calls, so that reading it is not
			// what is measured; a stall is as long in whichever call it falls.
			last := time.Now()
			for {
				for range 64 {
					if t.err = call(); t.err != nil {
						return
					}
				}
				t.ids += 64
				now := time.Now()
				t.longest = max(t.longest, now.Sub(last))
				if last = now; now.Sub(start) >= lasts {
					return
				}
			}
		})
	}
	group.Wait()
	took := time.Since(start)
	after, err := processorTime()
	if err != nil {
		return err
	}
	var ids int64
	var longest time.Duration
	for _, t := range tallies {
		if t.err != nil {
			return fmt.Errorf("%s: %w", name, t.err)
		}
		ids, longest = ids+t.ids, max(longest, t.longest)
	}
	rate := float64(ids) / took.Seconds()
	cores := (after - before).Seconds() / took.Seconds()
	line := fmt.Sprintf("%-34s %12.0f %7.1f%% %8.2f %12s", fmt.Sprintf("%s, %d goroutines", name, callers),
		rate, 100*rate/(perMillisecond*1000), cores, longest.Round(10*time.Microsecond))
	if name == "snowfence" {
		line += verdict(rate >= 0.97*perMillisecond*1000 && cores <= 0.25)
	}
	fmt.Println(line)
	return nil
}

// processorTime returns the time that this process has used, of all cores.
func processorTime() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("read processor time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
