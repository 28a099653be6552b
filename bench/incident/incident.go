package main

import (
	"embed"
	"fmt"

	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/sim"
)

// Incident is something that happens in the field.
type Incident struct {
	Name  string // of its scenario in testdata; heads its row
	Fleet Fleet  // what the machines are like
}

// scenarios are the plans of the incidents, by name.
//
//go:embed testdata/*.txt
var scenarios embed.FS

// Incidents returns all of them, in the order of the page.
func Incidents() []Incident {
	return []Incident{
		{"clock-back-2s", Distinct},
		{"upload-gap", Distinct},
		{"clock-back-1h", Distinct},
		{"leap-second", Distinct},
		{"pause", Distinct},
		{"suspend", Distinct},
		{"partition", Distinct},
		{"failover", Distinct},
		{"pid-1", containers},
		{"two-subnets", subnets},
		{"cloned-mac", template},
		{"default-worker", unconfigured},
		{"rolling-update", deployment},
		{"scaled-out", containers},
		{"golden-image", golden},
	}
}

// Plan returns the incident's plan. An error is returned when its scenario can't
// be read; a test holds that all can.
func (i Incident) Plan() (sim.Plan, error) {
	text, err := scenarios.ReadFile("testdata/" + i.Name + ".txt")
	if err != nil {
		return sim.Plan{}, err
	}
	plan, err := sim.Parse(string(text))
	if err != nil {
		return sim.Plan{}, fmt.Errorf("incident %s: %w", i.Name, err)
	}
	return plan, nil
}

// Allocator is a way to come by a worker id.
type Allocator struct {
	Name    string                  // heads its column
	Manner  string                  // describes in a few words how it goes, and whose it is
	Program func(Fleet) sim.Program // the processes on the machines of a fleet, for one run
	Quorum  bool                    // of a store like ZooKeeper that keeps acknowledged writes; not run where one does
	Ours    bool                    // Snowfence's own, which promises something
}

// Allocators returns all of them, ours last.
func Allocators() []Allocator {
	return []Allocator{
		{Name: "static", Manner: "a configured worker id, or 0; most libraries", Program: derive(configured)},
		{Name: "steady", Manner: "the same, with a monotonic clock; bwmarrin", Program: steady(configured)},
		{Name: "IP", Manner: "the low 16 bits of the address; Sonyflake", Program: derive(lowIP)},
		{Name: "MAC", Manner: "the low 10 bits of the network card's address; DotNetCore.CAP", Program: derive(lowMAC)},
		{Name: "PID", Manner: "the process id modulo 1,024", Program: derive(pid)},
		{Name: "TTL", Manner: "a Redis key of 30 s, prolonged every 10 s; if lost, another number is taken", Program: naive("twitter", func() routine { return &redis{} })},
		{Name: "upload", Manner: "a number for each address, kept in a file; the clock is uploaded every 3 s; Leaf", Program: leafs, Quorum: true},
		{Name: "Snowfence", Manner: "a window of 60 s, by compare-and-swap", Program: ours, Ours: true},
	}
}

// ours is Snowfence with its default window. Where a plan has a shorter one, that
// sets the pace of callers and messages, and nothing else.
func ours(Fleet) sim.Program {
	return func(s sim.Site) (sim.Allocator, error) {
		plan := *s.Plan
		plan.Window = lease.DefaultWindow
		s.Plan = &plan
		return sim.Ours(s)
	}
}
