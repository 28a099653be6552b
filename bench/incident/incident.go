package main

import (
	"embed"
	"fmt"

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
		{"clock-back-1h", Distinct},
		{"upload-gap", Distinct},
		{"leap-second", Distinct},
		{"clock-ahead", Distinct},
		{"pause", Distinct},
		{"suspend", Distinct},
		{"partition", Distinct},
		{"failover", Distinct},
		{"pid-1", containers},
		{"two-subnets", subnets},
		{"cloned-mac", template},
		{"forty-pods", pods},
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
