package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/sim"
)

// process is the common part of the naive allocators: a generator, once there is
// a worker id, and a routine that comes by one and looks after it. It implements
// [sim.Allocator].
type process struct {
	dialogue

	site    sim.Site
	machine Machine
	policy  snowfence.Policy
	routine routine

	generator *snowfence.Generator // nil without a worker id
}

// routine is an allocator's work for its worker id. Its calls return requests to the store.
type routine interface {
	// begin comes by a worker id.
	begin(p *process, now lease.Moment) []lease.Request
	// woken is called when the time has come that the process set.
	woken(p *process, now lease.Moment) []lease.Request
	// leave ends the process: its last request is answered by p.end.
	leave(p *process, now lease.Moment) []lease.Request
}

// errNoNumber is the answer to a call for ids while there is no worker id.
var errNoNumber = errors.New("this process has no worker id")

// restart is after how long a supervisor starts a process again that gave up at its start.
const restart = 5 * time.Second

// naive makes the program of an allocator, whose routine is fresh for each process and
// whose generator has the policy of a preset.
func naive(preset string, fresh func() routine) func(Fleet) sim.Program {
	return func(f Fleet) sim.Program {
		return func(s sim.Site) (sim.Allocator, error) {
			p, err := snowfence.PresetByName(preset)
			if err != nil {
				return nil, err
			}
			// A bound on the sequence's start is meant for 4,096 ids a tick, and is made to fit.
			p.Policy.Start.Max = p.Policy.Start.Max * s.Layout.Sequences() / 4096
			return &process{site: s, machine: f.machine(s.Node, s.Process), policy: p.Policy, routine: fresh()}, nil
		}
	}
}

// Step implements [sim.Allocator].
func (p *process) Step(e lease.Event, now lease.Moment) []lease.Request {
	switch e := e.(type) {
	case lease.Started:
		return p.routine.begin(p, now)
	case lease.Reply:
		return p.hear(e, now)
	case lease.Woken:
		if p.rings(now) {
			return p.routine.woken(p, now)
		}
	case lease.ReleaseAsked:
		p.generator = nil
		return p.routine.leave(p, now)
	}
	return nil
}

// Mint implements [sim.Allocator]. A batch is asked for in parts of as many ids as
// a tick has, and ids from before an error are used: these systems issue one id a
// call, so to them a batch is many calls.
func (p *process) Mint(ctx context.Context, ids []snowfence.ID) (int, error) {
	generator := p.generator
	if generator == nil {
		return 0, errNoNumber
	}
	n, tick := 0, int(p.site.Layout.Sequences())
	var err error
	for n < len(ids) && err == nil {
		part := ids[n:min(n+tick, len(ids))]
		if err = generator.Fill(ctx, part); err == nil {
			n += len(part)
		}
	}
	if n > 0 {
		return n, nil
	}
	return 0, err
}

// issue begins to issue under a worker id, without knowledge of the ids issued under it before.
func (p *process) issue(worker int64) {
	generator, err := snowfence.NewGenerator(snowfence.GeneratorConfig{
		Layout: p.site.Layout, Worker: &worker, Until: p.site.Layout.HorizonTick(), Policy: p.policy, Clock: p.site.Clock, Rand: p.site.Rand.Uint64,
	})
	if err == nil {
		p.generator = generator
	}
}

// owner is the process's name in the store.
func (p *process) owner() string { return fmt.Sprintf("%d/%d", p.site.Node, p.site.Process) }

// end reports that the process is done.
func (*process) end(lease.Moment) []lease.Request {
	return []lease.Request{lease.Report{What: lease.Ended}}
}

// numbers is how many worker ids an allocator has that knows of at most that many.
func (p *process) numbers(most int64) int64 { return min(most, p.site.Layout.Workers()) }
