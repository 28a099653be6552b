package fence_test

import (
	"testing"
	"time"

	"snowfence.example/snowfence/fence/lease"
	"snowfence.example/snowfence/store/memstore"
)

// The eleventh and the twelfth mutant are limits of what a store can fence.
// These tests show that they are real, and how long they last.

// TestMutants11StoreRolledBackRepeatsUntilItsHoldersNotice rolls the store back
// to before its first claim. Whoever claims then can't know of the ticks that
// the holders of before were given.
func TestMutants11StoreRolledBackRepeatsUntilItsHoldersNotice(t *testing.T) {
	tests := []struct {
		name string
		cut  bool
		last time.Duration // after the rollback, the last repetition comes
	}{
		{"they reach the store", false, worldWindow/3 + worldTimeout},
		{"they are cut off from the store", true, worldWindow},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			const rollback = 500 * time.Millisecond
			repeated := 0
			for seed := range uint64(20) {
				w := newWorld(plan{seed: seed, nodes: 2, quiet: true, length: 3 * time.Second}, mutant{})
				var empty memstore.Snapshot
				w.after(0, w.createNamespace)
				w.after(1, func() { empty = w.memory.Snapshot() })
				w.after(rollback, func() {
					w.memory.Restore(empty)
					for _, n := range w.nodes {
						n.cut = test.cut
					}
					late := &node{w: w, host: "late"}
					late.boot()
				})
				repeated += ends(t, w.run(), seed, rollback, test.last)
			}
			if repeated == 0 {
				t.Error("no schedule repeated an id: this limit is not shown")
			}
		})
	}
}

// TestMutants12ClonedProcessRepeatsUntilItsBound copies a process, as a
// snapshot of a virtual machine does, and lets both go on. Neither can know of
// the other until one of them has written; then the other one stops, although
// the register shows its own nonce.
func TestMutants12ClonedProcessRepeatsUntilItsBound(t *testing.T) {
	tests := []struct {
		name string
		cut  bool
		last time.Duration
	}{
		{"they reach the store", false, worldWindow/3 + 2*worldTimeout},
		{"they are cut off from the store", true, worldWindow},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			const cloned = 500 * time.Millisecond
			repeated := 0
			for seed := range uint64(20) {
				w := newWorld(plan{seed: seed, nodes: 1, quiet: true, length: 3 * time.Second}, mutant{})
				w.after(cloned, func() {
					w.nodes[0].cut = test.cut
					w.nodes[0].clone(t)
				})
				repeated += ends(t, w.run(), seed, cloned, test.last)
			}
			if repeated == 0 {
				t.Error("no schedule repeated an id: this limit is not shown")
			}
		})
	}
}

// ends checks that repetitions lie between begin and begin+last, and returns
// how many there were.
func ends(t *testing.T, found []finding, seed uint64, begin, last time.Duration) int {
	t.Helper()
	for _, f := range found {
		if f.at < begin || f.at > begin+last {
			t.Errorf("seed %d: %s, which is not within %s of %s: %s: %s", seed, f.at, last, begin, f.rule, f.what)
		}
	}
	return len(found)
}

// createNamespace writes the namespace's record, so that a rolled back store
// still has it.
func (w *world) createNamespace() {
	record := lease.Namespace{
		Layout: worldLayout().String(), Incarnation: "00112233445566778899aabbccddeeff", Created: worldClock{w: w}.Wall(),
	}
	value, err := record.Encode()
	if err != nil {
		w.breaks("world", "%v", err)
	}
	w.answer(lease.Swap{Key: lease.NamespaceKey(lease.DefaultNamespace), Value: value}, false)
}

// clone copies the process with all that it remembers. Its generator goes on
// from where the other one stands.
func (n *node) clone(t *testing.T) {
	t.Helper()
	twin := *n
	n.w.nodes = append(n.w.nodes, &twin)
	if n.issuer == nil {
		t.Fatal("there is no generator to clone")
	}
	status := n.issuer.gen.Status()
	twin.start(lease.Start{Worker: n.issuer.worker, Term: n.state.View().Register.Term, Floor: max(status.Reserved, status.Now), Until: status.Until})
	twin.issuer.name += ", the clone"
	twin.issuer.floor = n.issuer.floor
	// Whatever was under way is answered to one of them only.
	twin.soon(worldTimeout, func() { twin.step(lease.Reply{ID: twin.answered + 1}) })
	twin.soon(0, twin.mint)
	twin.step(lease.Reply{}) // means nothing, but sets the timer
}
