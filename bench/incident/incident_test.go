package main

import (
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"snowfence.example/snowfence/internal/sim"
)

// compared is the comparison of the page, made once for all tests.
var compared = sync.OnceValues(func() (Comparison, error) {
	return Compare(Incidents(), Allocators(), Seeds)
})

func comparison(t *testing.T) Comparison {
	t.Helper()
	c, err := compared()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// of returns the cell of an incident and an allocator.
func (c Comparison) of(t *testing.T, incident, allocator string) Cell {
	t.Helper()
	i := slices.IndexFunc(c.Incidents, func(i Incident) bool { return i.Name == incident })
	a := slices.IndexFunc(c.Allocators, func(a Allocator) bool { return a.Name == allocator })
	if i < 0 || a < 0 {
		t.Fatalf("there is no %s with %s", incident, allocator)
	}
	return c.Cells[i][a]
}

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/incidents.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestIncidentTableIsWhatTheDocumentSays puts the tables into the page, which must
// leave it as it is.
func TestIncidentTableIsWhatTheDocumentSays(t *testing.T) {
	text := page(t)
	printed, err := Rewrite(text, comparison(t))
	if err != nil {
		t.Fatal(err)
	}
	was, is := strings.Split(text, "\n"), strings.Split(printed, "\n")
	for i := range max(len(was), len(is)) {
		if i >= len(was) || i >= len(is) || was[i] != is[i] {
			t.Errorf("docs/incidents.md is not what is printed, from line %d on: make incidents", i+1)
			break
		}
	}
}

// TestPageExplainsEveryIncidentAndAllocator looks for their sections and names.
func TestPageExplainsEveryIncidentAndAllocator(t *testing.T) {
	text := page(t)
	for _, i := range Incidents() {
		if !strings.Contains(text, "\n### "+i.Name+"\n") {
			t.Errorf("docs/incidents.md has no section %s", i.Name)
		}
	}
	for _, a := range Allocators() {
		if !strings.Contains(text, "\n- **"+a.Name+"**: "+a.Manner+".") {
			t.Errorf("docs/incidents.md lacks the line of %s: %s", a.Name, a.Manner)
		}
	}
}

// TestIncidentsMakeEveryNaiveAllocatorRepeatIDsAndOursNever holds the tables' result:
// each manner is broken by an incident, and each incident breaks a manner.
func TestIncidentsMakeEveryNaiveAllocatorRepeatIDsAndOursNever(t *testing.T) {
	c := comparison(t)
	for a, allocator := range c.Allocators {
		repeated := int64(0)
		for i, incident := range c.Incidents {
			cell := c.Cells[i][a]
			repeated += cell.Duplicates
			if cell.IDs == 0 && !cell.Spared {
				t.Errorf("%s: %s issued nothing", incident.Name, allocator.Name)
			}
			if allocator.Ours && (cell.Duplicates > 0 || cell.Spared) {
				t.Errorf("%s: %s repeated %d ids, or was not run: %t", incident.Name, allocator.Name, cell.Duplicates, cell.Spared)
			}
		}
		if !allocator.Ours && repeated == 0 {
			t.Errorf("%s repeated nothing: what is it shown for?", allocator.Name)
		}
	}
	for i, incident := range c.Incidents {
		if !slices.ContainsFunc(c.Cells[i], func(cell Cell) bool { return cell.Duplicates > 0 }) {
			t.Errorf("%s breaks nobody: what is it shown for?", incident.Name)
		}
	}
}

// TestIncidentsAreNotSurvivedBySilence holds our ids against the best of the others, where it need not
// refuse by its promise.
func TestIncidentsAreNotSurvivedBySilence(t *testing.T) {
	c := comparison(t)
	waits := map[string]string{
		"partition":    "a window ends that can't be extended",
		"scaled-out":   "four worker ids serve four pods",
		"golden-image": "a claim needs a store",
	}
	for i, incident := range c.Incidents {
		best := int64(0)
		for a := range c.Allocators {
			best = max(best, c.Cells[i][a].IDs)
		}
		share := 0.85
		if waits[incident.Name] != "" {
			share = 0.35 // of a plan in which the store is there for 40 s of 100
		}
		for a, allocator := range c.Allocators {
			if cell := c.Cells[i][a]; allocator.Ours && float64(cell.IDs) < share*float64(best) {
				t.Errorf("%s: %s issued %d ids, another one %d", incident.Name, allocator.Name, cell.IDs, best)
			}
		}
	}
}

// TestOursKeepsEveryRuleInEveryIncident runs ours by itself, on stores with a clock
// and without one, so that all is checked that package sim checks: its windows at
// every id, and that every machine for which there is a worker id issues again
// when the incident is over.
func TestOursKeepsEveryRuleInEveryIncident(t *testing.T) {
	for _, incident := range Incidents() {
		plan, err := incident.Plan()
		if err != nil {
			t.Fatal(err)
		}
		for _, plan.EngineClock = range []bool{true, false} {
			for seed := range uint64(Seeds) {
				plan.Seed = seed
				r := sim.Run(plan, sim.Config{Program: ours(incident.Fleet)})
				for _, f := range r.Findings {
					t.Errorf("%s, a clock in the store %t, seed %d: %s", incident.Name, plan.EngineClock, seed, f)
				}
				if r.Tally.Counts[sim.Owed] == 0 {
					t.Errorf("%s, a clock in the store %t, seed %d: no process had to give ids at the end", incident.Name, plan.EngineClock, seed)
				}
			}
		}
	}
}

// TestQuorumIsSparedWhatLosesAcknowledgedWrites looks for the cells that were not
// run: the ones of a store that keeps acknowledged writes, where the store does not.
func TestQuorumIsSparedWhatLosesAcknowledgedWrites(t *testing.T) {
	c := comparison(t)
	spared := 0
	for i, incident := range c.Incidents {
		plan, err := incident.Plan()
		if err != nil {
			t.Fatal(err)
		}
		loses := slices.ContainsFunc(plan.Faults, func(f sim.Fault) bool { return f.Kind == sim.Failover || f.Kind == sim.Rollback })
		for a, allocator := range c.Allocators {
			cell := c.Cells[i][a]
			if want := loses && allocator.Quorum; cell.Spared != want {
				t.Errorf("%s with %s: spared is %t, want %t", incident.Name, allocator.Name, cell.Spared, want)
			}
			if cell.Spared {
				spared++
				if cell != (Cell{Spared: true}) {
					t.Errorf("%s with %s was not run, and counted %+v", incident.Name, allocator.Name, cell)
				}
			}
		}
	}
	if dashes := strings.Count(page(t), " – |"); spared == 0 || dashes != 2*spared {
		t.Errorf("docs/incidents.md has %d dashes, for %d cells in two tables", dashes, spared)
	}
}

// TestNothingIsRepeatedWhereNothingGoesWrong shows that the naive allocators are sound without
// incidents.
func TestNothingIsRepeatedWhereNothingGoesWrong(t *testing.T) {
	plan, err := sim.Parse("nodes 4\nlength 2m\nwindow 60s\nengine-clock\nmax-wait 1s\nbatch 2400\nlayout ms41-worker16-seq4@2026-01-01T00:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range Allocators() {
		r := sim.Run(plan, sim.Config{Program: a.Program(Distinct), Collect: true})
		if ids, twice := r.Tally.Counts[sim.IDs], r.Tally.Counts[sim.Duplicates]; ids < 50_000 || twice > 0 {
			t.Errorf("%s issued %d ids, %d of them twice", a.Name, ids, twice)
		}
	}
}

// TestIncidentsDoNotBreakAMannerByWhatItWasMadeFor keeps the naive allocators from
// becoming straw men.
func TestIncidentsDoNotBreakAMannerByWhatItWasMadeFor(t *testing.T) {
	c := comparison(t)
	for _, test := range []struct{ incident, allocator, why string }{
		{"clock-back-1h", "upload", "the uploaded time is ahead of the clock"},
		{"clock-back-2s", "TTL", "a process that died still holds its number"},
		{"leap-second", "TTL", "a process that died still holds its number"},
		{"partition", "upload", "a number is never another's"},
		{"suspend", "upload", "a number is never another's"},
		{"pid-1", "IP", "the addresses differ"},
		{"two-subnets", "PID", "the process ids differ"},
		{"cloned-mac", "IP", "the addresses differ"},
		{"scaled-out", "static", "a number that does not fit is refused"},
		{"scaled-out", "TTL", "there is no fifth key"},
		{"scaled-out", "upload", "a number that does not fit is refused"},
	} {
		if cell := c.of(t, test.incident, test.allocator); cell.Duplicates != 0 {
			t.Errorf("%s: %s repeated %d ids, although %s", test.incident, test.allocator, cell.Duplicates, test.why)
		}
	}
}

// TestEveryScenarioIsAnIncidentThatSaysWhatItShows reads the files.
func TestEveryScenarioIsAnIncidentThatSaysWhatItShows(t *testing.T) {
	files, err := scenarios.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	var named, there []string
	for _, f := range files {
		there = append(there, strings.TrimSuffix(f.Name(), path.Ext(f.Name())))
	}
	for _, i := range Incidents() {
		named = append(named, i.Name)
		plan, err := i.Plan()
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.HasSuffix(plan.Claim, ".") {
			t.Errorf("%s does not open with a sentence: %q", i.Name, plan.Claim)
		}
		if plan.Rough {
			t.Errorf("%s is rough: nothing would be owed at its end", i.Name)
		}
		// The page's part on all plans.
		if workers := plan.Layout.Workers(); !plan.EngineClock || workers != 1<<16 && i.Name != "scaled-out" {
			t.Errorf("%s has %d worker ids, and it is %t that its store has a clock", i.Name, workers, plan.EngineClock)
		}
	}
	slices.Sort(named)
	if !slices.Equal(named, there) {
		t.Errorf("testdata has %q, and the incidents are %q", there, named)
	}
}

// TestIncidentOfNoScenarioIsAnError asks for one.
func TestIncidentOfNoScenarioIsAnError(t *testing.T) {
	if _, err := Compare([]Incident{{"no-such", Distinct}}, Allocators()[:1], 1); err == nil {
		t.Error("no error")
	}
}
