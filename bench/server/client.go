package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"snowfence.example/snowfence/bench/contest"
	"snowfence.example/snowfence/client"
)

// callers of package client are goroutines, which share one client.
const clientCallers = 256

// block is how many ids are fetched ahead by one request. The daemon's limit is set to it.
const block = 200_000

// client measures the Go client, through one server.
func (b bench) client(ctx context.Context) error {
	ours, err := b.daemon(ctx)
	if err != nil {
		return err
	}
	defer ours.Stop()
	const name, least = "Next, riding on requests", 1e6
	return b.measure(ctx, contest.Contest{
		Title:      fmt.Sprintf("client.Next from %d goroutines through one server", clientCallers),
		Contenders: []contest.Contender{b.next(name, ours, 0)},
		Goals:      []contest.Goal{{Figure: rate, Name: name, Least: least}},
	})
}

// prefetch measures Next beside an atomic addition, the least that an id can cost. With one processor
// its callers, which never wait, would leave no time to the goroutine that fetches.
func (b bench) prefetch(ctx context.Context) error {
	ours, err := b.daemon(ctx)
	if err != nil {
		return err
	}
	defer ours.Stop()
	var word atomic.Int64
	const name, add, least = "Next, with prefetch", "bare atomic add", 1.0 / 3
	return b.measure(ctx, contest.Contest{
		Title: fmt.Sprintf("client.Next with prefetch beside an atomic add, %d goroutines", clientCallers),
		Contenders: []contest.Contender{
			{Name: add, Run: func(context.Context) (contest.Sample, error) {
				l, err := b.share(func() error { word.Add(1); return nil })
				return contest.Sample{rate: l.requests / l.took.Seconds()}, err
			}},
			b.next(name, ours, block),
		},
		Goals: []contest.Goal{{Figure: rate, Name: name, Peer: add, Least: least}},
	})
}

// next calls the client's Next.
func (b bench) next(name string, p *process, prefetch int) contest.Contender {
	return contest.Contender{Name: name, Run: func(ctx context.Context) (contest.Sample, error) {
		c, err := client.New(client.Config{Servers: []string{p.Addresses["redis"]}, Batch: max(1000, prefetch), Prefetch: prefetch})
		if err != nil {
			return nil, err
		}
		s, err := p.under(1, func() (load, error) {
			return b.share(func() error {
				_, err := c.Next(ctx)
				return err
			})
		})
		return s, errors.Join(err, c.Close(ctx))
	}}
}

// share has the goroutines repeat a call for the time of a run.
func (b bench) share(call func() error) (load, error) {
	const often = 256 // a look at the clock costs more than some calls
	return flatOut(clientCallers, often, b.each, func(int) error { return call() })
}
