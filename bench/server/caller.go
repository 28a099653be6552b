package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
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
	return b.measure(ctx, contest{
		title:      fmt.Sprintf("%s, %d connections, one request under way on each", name, connections),
		contenders: []contender{b.closed(echo, name, dial), b.closed(ours, name, dial)},
		// Where the load is the limit, read the server's time instead of the rate.
		goals: []goal{{rate, ours.name, echo.name, atLeast}, {cpu, ours.name, echo.name, 1 / atLeast}},
	})
}

// closed has each connection send its next request when it has the answer to the last.
func (b bench) closed(p *process, scheme string, dial dialer) contender {
	return contender{p.name, func(ctx context.Context) (sample, error) {
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

// paced sends requests at a steady rate, each on the next connection. A latency begins when the
// request was to be sent, so one that waits for its connection counts the wait.
func paced(callers []caller, perSecond int, each time.Duration) (load, error) {
	apart := time.Second / time.Duration(perSecond)
	total := int(each / apart)
	type lane struct {
		due       chan time.Time
		latencies []time.Duration
		err       error
	}
	lanes := make([]lane, len(callers))
	var group sync.WaitGroup
	for i, c := range callers {
		lane := &lanes[i]
		lane.due = make(chan time.Time, total/len(callers)+1)
		group.Go(func() {
			for due := range lane.due {
				if lane.err = c.Call(); lane.err != nil {
					return
				}
				lane.latencies = append(lane.latencies, time.Since(due))
			}
		})
	}
	began := time.Now()
	// A sleep of the operating system wakes within some 60 µs, Go's within 1 ms. But while it
	// lasts the connections need another processor of Go's to run on.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	runtime.LockOSThread()
	for i := range total {
		due := began.Add(time.Duration(i) * apart)
		if wait := time.Until(due); wait > 0 {
			span := syscall.NsecToTimespec(wait.Nanoseconds())
			_ = syscall.Nanosleep(&span, nil) // a signal ends it early, and the request is early by as much
		}
		lanes[i%len(lanes)].due <- due
	}
	runtime.UnlockOSThread()
	for i := range lanes {
		close(lanes[i].due)
	}
	group.Wait()
	l := load{took: time.Since(began)}
	var all []time.Duration
	var errs []error
	for i := range lanes {
		all = append(all, lanes[i].latencies...)
		errs = append(errs, lanes[i].err)
	}
	l.requests = float64(len(all))
	l.tail = percentile(all, 99.9)
	return l, errors.Join(errs...)
}

// percentile returns the least that so many percent do not exceed.
func percentile(latencies []time.Duration, percent float64) time.Duration {
	if len(latencies) == 0 {
		return 0
	}
	slices.Sort(latencies)
	return latencies[int(math.Ceil(percent/100*float64(len(latencies))))-1]
}

// pace is how many requests a second the part "paced" sends.
const pace = 10_000

// paced measures latencies below the greatest load. The bare servers' times show the machine's part.
func (b bench) paced(ctx context.Context) error {
	ours, err := b.daemon(ctx)
	if err != nil {
		return err
	}
	defer ours.Stop()
	var echoes []*process
	defer func() {
		for _, echo := range echoes {
			echo.Stop()
		}
	}()
	c := contest{title: fmt.Sprintf("latency at %d requests a second, %d connections", pace, connections)}
	for _, front := range []struct {
		scheme string
		dial   dialer
	}{{"http", dialHTTP}, {"thrift", dialThrift}, {"grpc", dialGRPC}} {
		echo, err := b.bare(ctx, front.scheme)
		if err != nil {
			return err
		}
		echo.name, echoes = "bare", append(echoes, echo)
		for _, p := range []*process{echo, ours} {
			c.contenders = append(c.contenders, contender{p.name + " " + front.scheme, func(ctx context.Context) (sample, error) {
				return p.under(1, func() (load, error) {
					return drive(ctx, p.Addresses[front.scheme], front.dial, func(callers []caller) (load, error) { return paced(callers, pace, b.each) })
				})
			}})
		}
		const most = 2e-3
		c.goals = append(c.goals, goal{tail, ours.name + " " + front.scheme, "", most})
	}
	return b.measure(ctx, c)
}
