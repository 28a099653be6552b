package sim

import (
	"testing"
	"time"
)

// basePlans are calm runs of each sort, in which one fault is placed everywhere.
func basePlans() map[string]Plan {
	base := func(change func(p *Plan)) Plan {
		p := Plain()
		p.Length = 3 * p.Window
		change(&p)
		return p
	}
	return map[string]Plan{
		"pool":        base(func(*Plan) {}),
		"full pool":   base(func(p *Plan) { p.Nodes = 3 }),
		"pinned":      base(func(p *Plan) { p.Pins = 1 }),
		"lossy":       base(func(p *Plan) { p.Loss = 60 * time.Millisecond }),
		"with clock":  base(func(p *Plan) { p.EngineClock = true }),
		"journals":    base(func(p *Plan) { p.Journals = true }),
		"lossy pages": base(func(p *Plan) { p.Journals, p.Loss, p.Pins = true, 60*time.Millisecond, 1 }),
	}
}

// TestCrashAfterAnyStepCostsNothingButTime lets a process die, or asks it to end,
// after its first step, after its second, and so on through a whole life, with
// the store there and with the store away from that step on.
func TestCrashAfterAnyStepCostsNothingButTime(t *testing.T) {
	t.Parallel()
	for name, base := range basePlans() {
		t.Run(name, func(t *testing.T) {
			undisturbed := Run(base, Config{})
			if len(undisturbed.Findings) > 0 {
				t.Fatal(undisturbed.Findings[0])
			}
			steps := int64(0)
			for _, kind := range []Kind{CrashAfterStep, TerminateAfterStep} {
				for k := int64(1); ; k++ {
					p := base
					p.Faults = []Fault{{Kind: kind, For: 2 * p.beat(), N: k}}
					if k%2 == 0 {
						p.Weather.Silent = 10
					}
					r := Run(p, Config{})
					if len(r.Findings) > 0 {
						t.Fatalf("%s\n%s", r.Findings[0], p)
					}
					if r.Tally.Faults[kind] == 0 {
						steps = max(steps, k-1)
						break
					}
				}
			}
			if steps < 15 {
				t.Errorf("only %d steps were found", steps)
			}
			t.Logf("%d steps", steps)
		})
	}
}
