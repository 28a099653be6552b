package trace_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/sim"
	"snowfence.example/snowfence/internal/sim/trace"
)

// The plans whose traces are changed. A holder claims, extends, and is asked to end or crashes.
const (
	durable  = "nodes 1\npins 1\nlength 600ms\nrough\nat 400ms node 0 terminate 100ms"
	lossy    = "nodes 1\npins 1\nlength 600ms\nrough\nloss 60ms\nat 400ms node 0 terminate 100ms"
	resuming = "nodes 1\npins 1\nlength 600ms\nrough\njournals\nat 400ms node 0 crash 10ms"
	released = "nodes 1\npins 1\nlength 600ms\nrough\njournals\nat 400ms node 0 terminate 300ms"
)

// run returns the trace of a plan, without remarks.
func run(t *testing.T, text string) (p sim.Plan, steps []trace.Step) {
	t.Helper()
	p, err := sim.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	r := sim.Run(p, sim.Config{Steps: func(s trace.Step) { steps = append(steps, s) }})
	if len(r.Findings) > 0 {
		t.Fatal(r.Findings[0])
	}
	return p, slices.DeleteFunc(steps, func(s trace.Step) bool { return s.Kind == trace.Remark })
}

// find returns where the n-th step of a kind is, counted from 0.
func find(steps []trace.Step, kind trace.Kind, n int) int {
	for i, s := range steps {
		if s.Kind != kind {
			continue
		}
		if n--; n < 0 {
			return i
		}
	}
	return -1
}

// last returns the last step of a kind.
func last(steps []trace.Step, kind trace.Kind) trace.Step {
	for _, s := range slices.Backward(steps) {
		if s.Kind == kind {
			return s
		}
	}
	return trace.Step{}
}

// change returns a planted difference: the n-th step of a kind is another one.
func change(kind trace.Kind, n int, with func(s *trace.Step, steps []trace.Step)) func([]trace.Step) []trace.Step {
	return func(steps []trace.Step) []trace.Step {
		with(&steps[find(steps, kind, n)], steps)
		return steps
	}
}

// drop returns another: the n-th step of a kind is missing.
func drop(kind trace.Kind, n int) func([]trace.Step) []trace.Step {
	return func(steps []trace.Step) []trace.Step {
		at := find(steps, kind, n)
		return slices.Delete(steps, at, at+1)
	}
}

// move returns another: the n-th step of a kind happens right after the m-th one of a kind.
func move(kind trace.Kind, n int, after trace.Kind, m int) func([]trace.Step) []trace.Step {
	return func(steps []trace.Step) []trace.Step {
		from := find(steps, kind, n)
		s := steps[from]
		steps = slices.Delete(steps, from, from+1)
		return slices.Insert(steps, find(steps, after, m)+1, s)
	}
}

// repeat returns another: a write like the first one of a kind follows the n-th step of a kind.
func repeat(kind, after trace.Kind, n int) func([]trace.Step) []trace.Step {
	return func(steps []trace.Step) []trace.Step {
		s := steps[find(steps, kind, 0)]
		s.Write = "another"
		return slices.Insert(steps, find(steps, after, n)+1, s)
	}
}

// difference is planted into the trace of a plan.
type difference struct {
	name, plan string
	plant      func([]trace.Step) []trace.Step
	guard      string // that refuses the step, or its beginning
}

// wrongSteps are differences in a holder's acts.
func wrongSteps() []difference {
	return []difference{
		{"a stamp at the bound", durable, change(trace.Stamp, 0, func(s *trace.Step, steps []trace.Step) {
			s.Until = steps[find(steps, trace.Use, 0)].Until + 1
		}), "stamps: LAST_STAMP"},
		{"a stamp below an earlier one", durable, change(trace.Stamp, 9, func(s *trace.Step, steps []trace.Step) {
			s.Floor = steps[find(steps, trace.Stamp, 0)].Floor
		}), "stamps: select(t : nxt[i]"},
		{"a stamp after the release was asked for", durable, move(trace.Stamp, 9, trace.Asked, 0), "stamps: CAN_STAMP"},
		{"a stamp before the bound is acknowledged", durable, move(trace.Stamp, 0, trace.Claim, 0), "stamps: CAN_STAMP"},
		{"a stamp before the generator begins", durable, move(trace.Stamp, 0, trace.Acknowledged, 0), "stamps: CAN_STAMP"},
		{"a stamp that ends below its floor", durable, change(trace.Stamp, 9, func(s *trace.Step, _ []trace.Step) {
			s.Until = s.Floor - 1
		}), "stamps: select(t : nxt[i]"},
		{"an extension without a term", durable, repeat(trace.Extend, trace.Claim, 0), "extends: ver[i] != 0"},
		{"an extension from a stale version", durable, change(trace.Extend, 1, func(s *trace.Step, steps []trace.Step) {
			s.Guard = steps[find(steps, trace.Extend, 0)].Guard
		}), "extends: send(EXTEND, ver[i], u)"},
		{"an extension that lowers until", durable, change(trace.Extend, 1, func(s *trace.Step, steps []trace.Step) {
			s.Until = steps[find(steps, trace.Extend, 0)].Until - 1
		}), "extends: select(u : until[ver[i]]"},
		{"a use without the acknowledgement", durable, drop(trace.Acknowledged, 1), "grant: until[b] > use[i]"},
		{"an extension while another one is open", durable, repeat(trace.Extend, trace.Extend, 0), "extends: open[i] == 0 && !sealed[i]"},
		{"an extension after the release was asked for", durable, repeat(trace.Extend, trace.Asked, 0), "extends: open[i] == 0 && !sealed[i]"},
		{"a claim from below the guarded until", durable, change(trace.Claim, 1, func(s *trace.Step, steps []trace.Step) {
			s.Floor = steps[find(steps, trace.Release, 0)].Until - 1
		}), "claims: select(t : FLOOR_FROM(e)"},
		{"a claim of an earlier version", durable, change(trace.Claim, 1, func(s *trace.Step, _ []trace.Step) {
			s.Guard = ""
		}), "Wire: MATCHES(w)"},
		{"a claim of a version that never was", durable, change(trace.Claim, 1, func(s *trace.Step, _ []trace.Step) {
			s.Guard = "never"
		}), "claims: e = cur;"},
		{"a claim beside the own term", durable, repeat(trace.Claim, trace.Use, 0), "claims: ver[i] == 0"},
		{"a release without a term", durable, repeat(trace.Release, trace.Claim, 0), "releases: ver[i] != 0"},
		{"a release while an extension is open", durable, repeat(trace.Release, trace.Extend, 0), "releases: open[i] == 0"},
		{"a release below a stamped tick", durable, change(trace.Release, 0, func(s *trace.Step, _ []trace.Step) {
			s.Until--
		}), "releases: u = RELEASED;"},
	}
}

// wrongWorlds are differences in the store's acts, and on lossy stores.
func wrongWorlds() []difference {
	return []difference{
		{"an acknowledgement without an effect", durable, drop(trace.Effect, 1), "is acknowledged: open[i] != 0"},
		{"a write that nobody sent", durable, drop(trace.Extend, 1), "Wire: kind[w] != FREE"},
		{"a write that takes effect in another register", durable, change(trace.Effect, 0, func(s *trace.Step, _ []trace.Step) {
			s.Register = "another"
		}), "Wire: MATCHES(w)"},
		{"a write that is stored otherwise", durable, change(trace.Effect, 1, func(s *trace.Step, _ []trace.Step) {
			s.Until++
		}), "send: until[w] = u;"},
		{"a durable store that loses a write", durable, change(trace.Acknowledged, 1, func(s *trace.Step, steps []trace.Step) {
			s.Kind, s.Register, s.Version = trace.Failover, steps[0].Register, ""
		}), "Failover: LOSABLE"},
		{"a use before confirmation", lossy, move(trace.Use, 0, trace.Acknowledged, 0), "grant: until[b] > use[i]"},
		{"a confirmation that was sent too early", lossy, change(trace.Extend, 0, func(s *trace.Step, steps []trace.Step) {
			s.Clock = steps[find(steps, trace.Acknowledged, 0)].Clock + 59e6
		}), "grant: until[b] > use[i]"},
		{"a loss of a confirmed write", lossy, change(trace.Use, 0, func(s *trace.Step, steps []trace.Step) {
			s.Kind, s.Register, s.Version = trace.Failover, steps[0].Register, ""
		}), "Failover: LOSABLE"},
	}
}

// wrongPages are differences in the acts of a process with a journal.
func wrongPages() []difference {
	return []difference{
		{"a term that goes on below its used", resuming, change(trace.Resume, 0, func(s *trace.Step, _ []trace.Step) {
			s.Floor--
		}), "journal: begins at its used"},
		{"a stamp of the last tick of an earlier process", resuming, func(steps []trace.Step) []trace.Step {
			stamped := steps[:find(steps, trace.Resume, 0)]
			steps[len(stamped)+find(steps[len(stamped):], trace.Stamp, 0)].Floor = last(stamped, trace.Stamp).Until - 1
			return steps
		}, "stamps: select(t : nxt[i]"},
		{"a term that goes on above its confirmed bound", resuming, change(trace.Resume, 0, func(s *trace.Step, _ []trace.Step) {
			s.Until += 1000
		}), "journal: stay below an until"},
		{"a term that goes on beside its holder", resuming, drop(trace.Forget, 0), "journal: Each page is consumed once"},
		{"a term without ids that goes on below its floor", resuming, func(steps []trace.Step) []trace.Step {
			steps[find(steps, trace.Resume, 0)].Floor = steps[find(steps, trace.Claim, 0)].Floor - 1
			return slices.DeleteFunc(steps, func(s trace.Step) bool { return s.Kind == trace.Use || s.Kind == trace.Stamp })
		}, "journal: begins at its used"},
		{"a term that goes on after its release", released, func(steps []trace.Step) []trace.Step {
			given, release := last(steps, trace.Use).Until, steps[find(steps, trace.Release, 0)]
			return append(steps, trace.Step{
				Kind: trace.Resume, Place: "another", Register: release.Register, Version: release.Guard, Floor: given, Until: given,
			})
		}, "journal: The page is discarded before"},
		{"a stamp above the page's used", resuming, change(trace.Stamp, 0, func(s *trace.Step, steps []trace.Step) {
			s.Until = steps[find(steps, trace.Use, 0)].Until + 1
		}), "stamps: LAST_STAMP"},
		{"a page whose extension lowers until", resuming, change(trace.Resume, 0, func(s *trace.Step, _ []trace.Step) {
			s.Write, s.Bound = "another", s.Until-1
		}), "extends: select(u : until[ver[i]]"},
		{"a page whose extension is another write", resuming, change(trace.Resume, 0, func(s *trace.Step, steps []trace.Step) {
			s.Write, s.Bound = steps[0].Write, s.Until
		}), "journal: An extension is in the page"},
	}
}

func TestModelRefusesEachDifferenceInATrace(t *testing.T) {
	t.Parallel()
	for _, test := range slices.Concat(wrongSteps(), wrongWorlds(), wrongPages()) {
		t.Run(test.name, func(t *testing.T) {
			p, steps := run(t, test.plan)
			if err := replay(p, steps); err != nil {
				t.Fatalf("the trace itself: %v", err)
			}
			if err := replay(p, test.plant(steps)); err == nil || !strings.Contains(err.Error(), "refused by "+test.guard) {
				t.Errorf("got %v, want a step that is refused by %s", err, test.guard)
			}
		})
	}
}

// replay returns the first refusal of a trace.
func replay(p sim.Plan, steps []trace.Step) error {
	m := trace.NewModel(p.Loss)
	for _, s := range steps {
		if err := m.Take(s); err != nil {
			return err
		}
	}
	return nil
}

// TestGuardsStandInTheModel holds the guards to the texts that they are named after.
func TestGuardsStandInTheModel(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	model, proof := read("../../../formal/lease.pml")+read("../../../formal/mutants.pml"), read("../../../docs/proof.md")
	guards := regexp.MustCompile(`return "([^:"]+): ([^"]+)"`).FindAllStringSubmatch(read("model.go")+read("node.go"), -1)
	if len(guards) < 25 {
		t.Errorf("there are only %d guards", len(guards))
	}
	for _, g := range guards {
		where := model
		if g[1] == "journal" {
			where = proof
		}
		if !strings.Contains(where, g[2]) || g[1] != "journal" && !strings.Contains(model, g[1]) {
			t.Errorf("%s: %q does not stand in the model", g[1], g[2])
		}
	}
}
