package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"snowfence.example/snowfence/bench/contest"
	"snowfence.example/snowfence/bench/serving"
)

// process is a server on a processor of its own.
type process struct {
	*serving.Process
	name string
}

// start starts a server, and waits until it writes a line that contains ready.
func (b bench) start(ctx context.Context, ready, program string, arguments ...string) (*process, error) {
	p, err := serving.Start(ctx, ready, []string{fmt.Sprintf("SNOWFENCE_LIMITS_BATCH=%d", block)}, "taskset", append([]string{"-c", b.core, program}, arguments...)...)
	return &process{p, filepath.Base(program)}, err
}

// load is a load generator's result.
type load struct {
	requests float64
	took     time.Duration
	tail     float64 // in ms; 0 if it is not reported
}

// under returns a server's needs under a load. Each request gives some ids, or 1.
func (p *process) under(ids float64, run func() (load, error)) (contest.Sample, error) {
	before, err := p.CPU()
	if err != nil {
		return nil, err
	}
	l, err := run()
	if err != nil {
		return nil, err
	}
	after, err := p.CPU()
	if err != nil {
		return nil, err
	}
	n := l.requests * ids
	s := contest.Sample{rate: n / l.took.Seconds(), cpu: (after - before).Seconds() / n * 1e6}
	if l.tail > 0 {
		s[tail] = l.tail
	}
	return s, nil
}
