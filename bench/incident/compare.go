package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/sim"
)

// Seeds is how many seeds each pair runs on for the tables.
const Seeds = 10

// Cell is the result of an incident with an allocator, over all seeds.
type Cell struct {
	Spared          bool  // the incident can't happen to the allocator, so it was not run and nothing was counted
	IDs, Duplicates int64 // how many were issued, and how many of these had been issued before

	// Refused is the longest time that a machine's calls were refused one after
	// the other, in the worst of the runs: from the first of them to the next that
	// was answered, or to the last. A machine that is stopped is not called.
	Refused time.Duration
}

// Comparison is the cells of some incidents and some allocators.
type Comparison struct {
	Incidents  []Incident
	Allocators []Allocator
	Cells      [][]Cell // by incident and by allocator
}

// Compare runs each incident with each allocator on the seeds from 1 to seeds.
// Equal arguments give equal cells. An error is returned for a scenario that
// can't be read or run.
func Compare(incidents []Incident, allocators []Allocator, seeds int) (Comparison, error) {
	c := Comparison{Incidents: incidents, Allocators: allocators, Cells: make([][]Cell, len(incidents))}
	failed := make([]error, len(incidents)*len(allocators))
	turns := make(chan struct{}, runtime.NumCPU())
	var runs sync.WaitGroup
	for i, incident := range incidents {
		c.Cells[i] = make([]Cell, len(allocators))
		for a, allocator := range allocators {
			turns <- struct{}{}
			runs.Go(func() {
				c.Cells[i][a], failed[i*len(allocators)+a] = incident.Run(allocator, seeds)
				<-turns
			})
		}
	}
	runs.Wait()
	return c, cmp.Or(failed...)
}

// Run does so for one incident and one allocator.
func (i Incident) Run(a Allocator, seeds int) (Cell, error) {
	var cell Cell
	plan, err := i.planFor(a)
	if err != nil {
		return Cell{}, err
	}
	if a.Quorum && plan.Loss > 0 { // the store loses acknowledged writes, and the allocator's does not
		return Cell{Spared: true}, nil
	}
	plan.Rough = true // the incident, without the time after it
	for seed := 1; seed <= seeds; seed++ {
		plan.Seed = uint64(seed)
		w := watch{calls: make(map[int]*calls)}
		report := sim.Run(plan, sim.Config{Program: w.over(a.Program(i.Fleet)), Collect: true})
		for _, f := range report.Findings {
			if f.Rule == "harness" {
				return Cell{}, fmt.Errorf("incident %s with %s, seed %d: %s", i.Name, a.Name, seed, f)
			}
		}
		cell.IDs += report.Tally.Counts[sim.IDs]
		cell.Duplicates += report.Tally.Counts[sim.Duplicates]
		cell.Refused = max(cell.Refused, w.longest)
	}
	return cell, nil
}

// planFor returns the incident's plan on the store that the allocator has.
func (i Incident) planFor(a Allocator) (sim.Plan, error) {
	plan, err := i.Plan()
	if a.Clockless {
		plan.EngineClock = false
	}
	return plan, err
}

// watch notes for how long calls were refused in a run.
type watch struct {
	calls   map[int]*calls // by machine
	longest time.Duration
}

// calls are the calls to one machine.
type calls struct {
	refused bool          // the last one was
	since   time.Duration // when the first of them was made that were refused since
}

// over returns the program with its calls watched. Ours is watched from outside
// like every other, so it is judged by its ids alone.
func (w *watch) over(program sim.Program) sim.Program {
	return func(s sim.Site) (sim.Allocator, error) {
		a, err := program(s)
		if err != nil {
			return nil, err
		}
		if w.calls[s.Node] == nil {
			w.calls[s.Node] = &calls{}
		}
		return &watched{Allocator: a, site: s, watch: w, calls: w.calls[s.Node]}, nil
	}
}

// watched is an allocator whose calls are watched.
type watched struct {
	sim.Allocator

	site  sim.Site
	watch *watch
	calls *calls
}

// Mint implements [sim.Allocator].
func (w *watched) Mint(ctx context.Context, ids []snowfence.ID) (int, error) {
	begun := w.site.Clock.Monotonic()
	n, err := w.Allocator.Mint(ctx, ids)
	if ctx.Err() != nil {
		return n, err // the process was ended: all calls have left
	}
	c := w.calls
	if err != nil && !c.refused {
		// A call lasts longer than the longest wait only if its machine was stopped
		// meanwhile, and that does not count as a refusal.
		c.refused, c.since = true, max(begun, w.site.Clock.Monotonic()-w.site.Plan.MaxWait)
	}
	if c.refused {
		w.watch.longest = max(w.watch.longest, w.site.Clock.Monotonic()-c.since)
	}
	c.refused = err != nil
	return n, err
}
