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
	"snowfence.example/snowfence/bench/contest"
)

// perMillisecond is the twitter layout's cap: 12 bits of sequence a tick.
const perMillisecond = 4096

// The goals of the full rate: at least this part of the cap, for at most this part of a core.
const (
	leastOfCap = 0.97
	mostCores  = 0.25
)

// fullRate measures how close to the layout's cap greedy callers get, the processor time of it, and the
// longest call.
func fullRate(lasts time.Duration) (missed, err error) {
	twitter, err := snowfence.PresetByName("twitter")
	if err != nil {
		return nil, err
	}
	longest := map[string]time.Duration{}
	c := contest.Contest{Title: fmt.Sprintf("Full rate of the twitter layout, %d ids a ms, kept up for %s", perMillisecond, lasts), Rounds: 10}
	for _, callers := range []int{1, 16} {
		g, err := snowfence.NewGenerator(snowfence.GeneratorConfig{Layout: twitter.Layout, Worker: new(int64), Until: twitter.Layout.HorizonTick()})
		if err != nil {
			return nil, err
		}
		snowflake.NodeBits, snowflake.StepBits, snowflake.Epoch = 10, 12, 1288834974657
		node, err := snowflake.NewNode(1)
		if err != nil {
			return nil, err
		}
		add := func(name string, call func() error) {
			c.Contenders = append(c.Contenders, contest.Contender{Name: name, Run: func(context.Context) (contest.Sample, error) {
				s, slowest, err := keepUp(callers, lasts/time.Duration(c.Rounds), call)
				longest[name] = max(longest[name], slowest)
				return s, err
			}})
		}
		ours := fmt.Sprintf("snowfence, %d goroutines", callers)
		add(ours, func() error { _, err := g.Next(context.Background()); return err })
		add(fmt.Sprintf("bwmarrin, %d goroutines", callers), func() error { node.Generate(); return nil })
		c.Goals = append(c.Goals, contest.Goal{Figure: "of cap", Name: ours, Least: leastOfCap}, contest.Goal{Figure: "cores", Name: ours, Most: mostCores})
	}
	missed, err = c.Run(context.Background())
	fmt.Println("longest calls:", longest)
	return missed, err
}

// keepUp runs callers that take ids as fast as they can: first without looking at the clock, for the
// rate and its cost, and then half as long with every call timed, for the longest.
func keepUp(callers int, lasts time.Duration, call func() error) (s contest.Sample, longest time.Duration, err error) {
	before := processorTime()
	rate, _, err := run(callers, lasts, 64, call)
	if err != nil {
		return nil, 0, err
	}
	s = contest.Sample{"of cap": rate / (perMillisecond * 1000), "cores": (processorTime() - before).Seconds() / lasts.Seconds()}
	_, longest, err = run(callers, lasts/2, 1, call)
	return s, longest, err
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
