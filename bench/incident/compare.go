package main

import (
	"cmp"
	"fmt"
	"runtime"
	"sync"

	"snowfence.example/snowfence/internal/sim"
)

// Seeds is how many seeds each pair runs on for the tables.
const Seeds = 10

// Cell is the result of an incident with an allocator, over all seeds.
type Cell struct {
	Spared          bool  // the incident can't happen to the allocator, so it was not run and nothing was counted
	IDs, Duplicates int64 // how many were issued, and how many of these had been issued before
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
	plan, err := i.Plan()
	if err != nil {
		return Cell{}, err
	}
	if a.Quorum && plan.Loss > 0 { // the store loses acknowledged writes, and the allocator's does not
		return Cell{Spared: true}, nil
	}
	plan.Rough = true // the incident, without the time after it
	for seed := 1; seed <= seeds; seed++ {
		plan.Seed = uint64(seed)
		report := sim.Run(plan, sim.Config{Program: a.Program(i.Fleet), Collect: true})
		for _, f := range report.Findings {
			if f.Rule == "harness" {
				return Cell{}, fmt.Errorf("incident %s with %s, seed %d: %s", i.Name, a.Name, seed, f)
			}
		}
		cell.IDs += report.Tally.Counts[sim.IDs]
		cell.Duplicates += report.Tally.Counts[sim.Duplicates]
	}
	return cell, nil
}
