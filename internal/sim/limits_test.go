package sim

import (
	"testing"
	"time"

	"snowfence.example/snowfence"
)

// Mutants 11 and 12 are limits, which a store can't fence. These tests show that they are real, and how
// long they last.

// limited runs a plan with a limit in fair weather, on twenty seeds. It checks that some run repeats
// ids, and that the last repetition comes at most last after the limit struck.
func limited(t *testing.T, p Plan, struck, last time.Duration) {
	t.Helper()
	repeated := 0
	for seed := range uint64(20) {
		p.Seed, p.Rough = seed, true
		r := Run(p, Config{Collect: true, bugs: bugs{strict: true}})
		for _, f := range r.Findings {
			if f.At < struck || f.At > struck+last {
				t.Errorf("seed %d: %s, which is not within %s of %s", seed, f, last, struck)
			}
		}
		repeated += int(r.Tally.Counts[Duplicates])
		// Repetitions that are forgiven must lie below the bounds that were forgotten.
		if r := Run(p, Config{}); len(r.Findings) > 0 {
			t.Errorf("seed %d: %s", seed, r.Findings[0])
		}
	}
	if repeated == 0 {
		t.Error("no run repeated an id: this limit is not shown")
	}
	t.Logf("%d ids were repeated in twenty runs", repeated)
}

// TestMutants11StoreRolledBackRepeatsUntilItsHoldersNotice rolls the store back
// to before its first claim. A process that claims then can't know the ticks of the earlier holders.
func TestMutants11StoreRolledBackRepeatsUntilItsHoldersNotice(t *testing.T) {
	t.Parallel()
	p := Plain()
	const struck = 500 * time.Millisecond
	tests := []struct {
		name   string
		faults []Fault
		last   time.Duration // after the rollback, the last repetition comes
	}{
		{"they reach the store", nil, p.Window/3 + p.timeout()},
		{"they are cut off from the store", []Fault{
			{At: struck, Node: 0, Kind: Cut, For: time.Hour}, {At: struck, Node: 1, Kind: Cut, For: time.Hour},
		}, p.Window},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := p
			// The third and the fourth come when the store has forgotten the others.
			p.Nodes = 4
			for late := 2; late < 4; late++ {
				p.Faults = append(p.Faults, Fault{Node: late, Kind: Pause, For: struck + time.Millisecond})
			}
			p.Faults = append(p.Faults, Fault{At: struck, Kind: Rollback, For: struck - 1})
			p.Faults = append(p.Faults, test.faults...)
			p.Founded = true
			limited(t, p, struck, test.last)
		})
	}
}

// TestMutants12ClonedProcessRepeatsUntilItsBound copies a process, as a
// snapshot of a virtual machine does, and lets both go on. Neither can know of
// the other until one of them has written; then the other one stops, although
// the register shows its own nonce.
func TestMutants12ClonedProcessRepeatsUntilItsBound(t *testing.T) {
	p := Plain()
	const struck = 500 * time.Millisecond
	tests := []struct {
		name   string
		faults []Fault
		last   time.Duration
	}{
		{"they reach the store", nil, p.Window/3 + 2*p.timeout()},
		{"they are cut off from the store", []Fault{{At: struck, Kind: Cut, For: time.Hour}}, p.Window},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := p
			p.Nodes = 1
			p.Faults = append(test.faults, Fault{At: struck, Kind: Clone})
			limited(t, p, struck, test.last)
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

// TestWhatOneRollbackTookAwayAnotherMayBringBack has a store restored to before its
// first write, and then to a state after it. The register that stands there again is of a namespace
// that is gone, and keeps all nodes away.
func TestWhatOneRollbackTookAwayAnotherMayBringBack(t *testing.T) {
	p, err := Parse(`
		seed 2
		length 1.510882956s
		nodes 2
		pins 1
		batch 1
		at 300ms node 1 suspend 600ms
		at 300ms store 0 rollback 300ms
		at 1.5s store 0 rollback 600ms
		at 1.5s store 0 rollback 300ms
		at 1.5s node 1 crash 0s`)
	if err != nil {
		t.Fatal(err)
	}
	r := Run(p, Config{})
	if len(r.Findings) > 0 {
		t.Error(r.Findings[0])
	}
	if r.Tally.Counts[Owed] != 0 {
		t.Errorf("%d nodes are owed ids", r.Tally.Counts[Owed])
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
		s.rollback(s.memory.Snapshot(), time.Second)
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
