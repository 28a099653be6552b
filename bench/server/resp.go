package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence/bench/contest"
)

// resp compares the RESP front with redis-server.
func (b bench) resp(ctx context.Context) error {
	redis, err := b.redis(ctx)
	if err != nil {
		return err
	}
	defer redis.Stop()
	ours, err := b.daemon(ctx)
	if err != nil {
		return err
	}
	defer ours.Stop()
	const incr = "INCR default"
	for _, p := range []struct {
		pipeline        int
		rate, cpu, tail float64 // ratios to redis-server
	}{{1, 1.0, 1.2, 1.2}, {16, 0.95, 1.0, 1.2}, {64, 1.5, 0.55, 1.2}} {
		err := b.measure(ctx, contest.Contest{
			Title:      fmt.Sprintf("%s, %d connections, -P %d", incr, connections, p.pipeline),
			Contenders: []contest.Contender{b.commands("redis-server", redis, p.pipeline, 1, incr), b.commands("snowfence", ours, p.pipeline, 1, incr)},
			Goals: []contest.Goal{
				{Figure: rate, Name: "snowfence", Peer: "redis-server", Least: p.rate},
				{Figure: cpu, Name: "snowfence", Peer: "redis-server", Most: p.cpu},
				{Figure: tail, Name: "snowfence", Peer: "redis-server", Most: p.tail},
			},
		})
		if err != nil {
			return err
		}
	}
	const hundred, thousand = "ID.NEXT default COUNT 100", "ID.NEXT default COUNT 1000"
	return b.measure(ctx, contest.Contest{
		Title: fmt.Sprintf("ids a second, %d connections, -P 64", connections),
		Contenders: []contest.Contender{
			b.commands(incr+" of Redis", redis, 64, 1, incr),
			b.commands(hundred, ours, 64, 100, hundred),
			b.commands(thousand, ours, 64, 1000, thousand),
		},
		Goals: []contest.Goal{
			{Figure: rate, Name: hundred, Peer: incr + " of Redis", Least: 3},
			{Figure: rate, Name: thousand, Peer: incr + " of Redis", Least: 8},
		},
	})
}

// commands sends one command all the time, in pipelines.
func (b bench) commands(name string, p *process, pipeline, ids int, command string) contest.Contender {
	n := 0 // as many as fill the time of a run; found by the first one
	return contest.Contender{Name: name, Run: func(ctx context.Context) (contest.Sample, error) {
		if n == 0 {
			warm, err := p.redisBenchmark(ctx, pipeline, max(100, 20_000*pipeline/ids), command)
			if err != nil {
				return nil, err
			}
			n = int(warm.requests * b.each.Seconds() / warm.took.Seconds())
		}
		return p.under(float64(ids), func() (load, error) { return p.redisBenchmark(ctx, pipeline, n, command) })
	}}
}

// redisBenchmark runs Redis' own load generator.
func (p *process) redisBenchmark(ctx context.Context, pipeline, n int, command string) (load, error) {
	host, port, err := net.SplitHostPort(p.Addresses["redis"])
	if err != nil {
		return load{}, fmt.Errorf("the address of %s: %w", p.name, err)
	}
	arguments := []string{"-h", host, "-p", port, "-c", strconv.Itoa(connections), "-P", strconv.Itoa(pipeline), "-n", strconv.Itoa(n), "-e"}
	//nolint:gosec // It runs the programs that its user names.
	out, err := exec.CommandContext(ctx, "redis-benchmark", append(arguments, strings.Fields(command)...)...).CombinedOutput()
	if err != nil {
		return load{}, fmt.Errorf("redis-benchmark: %w: %s", err, out)
	}
	l, err := readRedisBenchmark(string(out), n)
	if err != nil {
		return load{}, fmt.Errorf("redis-benchmark: %w: %s", err, out)
	}
	return l, nil
}

// readRedisBenchmark reads its output: a distribution such as
//
//	99.902% <= 2.023 milliseconds (cumulative count 999024)
//
// and then "throughput summary: 1272264.62 requests per second".
func readRedisBenchmark(out string, n int) (load, error) {
	l := load{requests: float64(n)}
	if strings.Contains(out, "Error from server") {
		return l, errors.New("the server refuses the command")
	}
	for line := range strings.Lines(out) {
		var percent, milliseconds, rate float64
		if _, err := fmt.Sscanf(line, "%f%% <= %f milliseconds", &percent, &milliseconds); err == nil && percent >= 99.9 && l.tail == 0 {
			l.tail = milliseconds
		}
		if _, err := fmt.Sscanf(strings.TrimSpace(line), "throughput summary: %f requests", &rate); err == nil {
			l.took = time.Duration(l.requests / rate * float64(time.Second))
		}
	}
	if l.tail == 0 || l.took == 0 {
		return l, errors.New("its output has no latency or no throughput")
	}
	return l, nil
}
