package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"snowfence.example/snowfence/bench/contest"
)

// caller is one connection, which has one request under way at a time.
type caller interface {
	Call() error
	Close() error
}

// dialer opens a connection to a front.
type dialer func(ctx context.Context, address string) (caller, error)

// pair compares a front with the bare server of its protocol, under the same load.
func (b bench) pair(ctx context.Context, name string, dial dialer, atLeast float64) error {
	ours, err := b.daemon(ctx)
	if err != nil {
		return err
	}
	defer ours.Stop()
	echo, err := b.bare(ctx, name)
	if err != nil {
		return err
	}
	defer echo.Stop()
	echo.name = "bare " + name
	return b.measure(ctx, contest.Contest{
		Title:      fmt.Sprintf("%s, %d connections, one request under way on each", name, connections),
		Contenders: []contest.Contender{b.closed(echo, name, dial), b.closed(ours, name, dial)},
		// Where the load is the limit, read the server's time instead of the rate.
		Goals: []contest.Goal{
			{Figure: rate, Name: ours.name, Peer: echo.name, Least: atLeast},
			{Figure: cpu, Name: ours.name, Peer: echo.name, Most: 1 / atLeast},
		},
	})
}

// closed has each connection send its next request when it has the answer to the last.
func (b bench) closed(p *process, scheme string, dial dialer) contest.Contender {
	return contest.Contender{Name: p.name, Run: func(ctx context.Context) (contest.Sample, error) {
		return p.under(1, func() (load, error) {
			return drive(ctx, p.Addresses[scheme], dial, func(callers []caller) (load, error) {
				return flatOut(len(callers), 1, b.each, func(i int) error { return callers[i].Call() })
			})
		})
	}}
}

// drive opens the connections, and closes them after the load.
func drive(ctx context.Context, address string, dial dialer, run func([]caller) (load, error)) (l load, err error) {
	var callers []caller
	defer func() {
		for _, c := range callers {
			err = errors.Join(err, c.Close())
		}
	}()
	for range connections {
		c, err := dial(ctx, address)
		if err != nil {
			return load{}, err
		}
		callers = append(callers, c)
		if err := c.Call(); err != nil { // the first is slower
			return load{}, err
		}
	}
	return run(callers)
}

// flatOut has as many goroutines repeat their calls for that time. Each looks at the clock once in so many calls.
func flatOut(goroutines, often int, each time.Duration, call func(goroutine int) error) (load, error) {
	counts, errs := make([]int, goroutines), make([]error, goroutines)
	var group sync.WaitGroup
	began := time.Now()
	for i := range goroutines {
		group.Go(func() {
			for time.Since(began) < each {
				for range often {
					if errs[i] = call(i); errs[i] != nil {
						return
					}
				}
				counts[i] += often
			}
		})
	}
	group.Wait()
	l := load{took: time.Since(began)}
	for _, n := range counts {
		l.requests += float64(n)
	}
	return l, errors.Join(errs...)
}
