package sim

import (
	"testing"
	"time"

	"snowfence.example/snowfence"
)

// TestLimitsEndWhenTheyAreSaidTo shows that mutants 11 and 12, which a store can't fence, are real, and how long they
// last. 11 is a store that is rolled back to before its first claim: a process that claims then can't know the ticks of
// the earlier holders. 12 is a copy of a process: neither can know of the other until one of them has written. Processes
// that are cut off from the store repeat for longer than others.
func TestLimitsEndWhenTheyAreSaidTo(t *testing.T) {
	t.Parallel()
	const struck = 500 * time.Millisecond
	plain := Plain()
	third, window := plain.Window/3, plain.Window
	tests := []struct {
		scenario string
		most     time.Duration // after it struck, the last repetition comes
		least    time.Duration // and not before
	}{
		{"rollback-beyond-the-loss-repeats-ids", third + plain.timeout(), 0},
		{"rollback-repeats-ids-to-the-end-of-the-window", window, third},
		{"cloned-process-repeats-ids", third + 2*plain.timeout(), 0},
		{"cloned-process-repeats-ids-to-the-end-of-the-window", window, third},
	}
	for _, test := range tests {
		t.Run(test.scenario, func(t *testing.T) {
			p := scenario(t, test.scenario)
			p.Rough = true
			repeated := int64(0)
			for seed := range uint64(chances) {
				p.Seed = seed
				last := time.Duration(0)
				r := Run(p, Config{Collect: true, bugs: bugs{strict: true}})
				for _, f := range r.Findings {
					if last = f.At; f.At < struck || f.At > struck+test.most {
						t.Errorf("seed %d: %s, which is not within %s of %s", seed, f, test.most, struck)
					}
				}
				if last <= struck+test.least && test.least > 0 {
					t.Errorf("seed %d: the last repetition comes after %s, which is within %s of %s", seed, last, test.least, struck)
				}
				repeated += r.Tally.Counts[Duplicates]
				// Repetitions that are forgiven must lie below the bounds that were forgotten.
				if r := Run(p, Config{}); len(r.Findings) > 0 {
					t.Errorf("seed %d: %s", seed, r.Findings[0])
				}
			}
			if repeated == 0 {
				t.Error("no id is repeated: this limit is not shown")
			}
		})
	}
}

// TestFastMonotonicClockNeedsItsMarginInTheLoss lets monotonic clocks run fast on
// a lossy store: a holder takes its bound for confirmed when the loss is over by its clock. The store
// loses writes that are younger in truth. If one of them is older by the holder's clock, some run
// repeats an id.
func TestFastMonotonicClockNeedsItsMarginInTheLoss(t *testing.T) {
	t.Parallel()
	const fast = 500_000
	tests := []struct {
		name string
		lost func(loss time.Duration) time.Duration
		safe bool
	}{
		{"the margin is declared", func(loss time.Duration) time.Duration { return loss / (million + fast) * million }, true},
		{"the margin is not declared", func(loss time.Duration) time.Duration { return loss }, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			broken := make(map[string]int)
			for seed := range uint64(20) {
				p := Plain()
				p.Seed, p.Rough, p.Founded = seed, true, true
				p.Nodes, p.Loss, p.Length, p.Batch = 4, p.Window/4, 20*p.Window, 100
				for node := range p.Nodes {
					p.Faults = append(p.Faults, Fault{Node: node, Kind: Slew, N: fast},
						Fault{Node: node, Kind: Crash, At: time.Duration(4+node) * p.Window, For: p.Window})
				}
				for at := p.Window; at < p.Length; at += 437 * time.Millisecond / 3 {
					p.Faults = append(p.Faults, Fault{At: at, Kind: Failover, For: test.lost(p.Loss)})
				}
				p.sort()
				for _, f := range Run(p, Config{}).Findings {
					broken[f.Rule]++
				}
			}
			if safe := len(broken) == 0; safe != test.safe {
				t.Errorf("rules broken: %v, want none: %t", broken, test.safe)
			}
			t.Logf("rules broken: %v", broken)
		})
	}
}

// TestLimitExcusesOnlyWhomItStruck: after a rollback of the store, issuers that claimed before may be
// repeated, and may repeat others. Issuers that claimed afterwards must not repeat each other, nor
// lower until below their stamped ticks.
func TestLimitExcusesOnlyWhomItStruck(t *testing.T) {
	for _, test := range []struct {
		one, other string
		excused    bool
	}{
		{"before", "after", true},
		{"after", "before", true},
		{"after", "later", false},
	} {
		p := Plain()
		w := newWorld(&p, Config{})
		s := w.servers[0]
		s.bounds["before"], s.reached[0] = 100, 100
		s.found(0, p.Layout)
		s.restore(s.memory.Snapshot())
		s.bounds["after"], s.bounds["later"] = 100, 100
		for node, nonce := range []string{test.one, test.other} {
			by := w.issuerOf(w.nodes[node].site(), nonce)
			by.generator, by.nonce = new(snowfence.Generator), nonce
			w.issuedRange(by, 0, 8, 9)
		}
		if found := w.report().Findings; test.excused != (len(found) == 0) {
			t.Errorf("%s and %s: %v", test.one, test.other, found)
		}
	}
}
