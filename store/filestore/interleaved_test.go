package filestore

import (
	"testing"

	"snowfence.example/snowfence/store"
)

// stepped is a swap of testKey to "new" that goes on by so many steps as it is let.
type stepped struct {
	process *process
	arrived chan struct{} // it stands before its next step
	permits chan struct{}
	done    chan error
	left    int // steps to its end
}

// begin starts a swap, which stands before its first step, and takes steps of them.
func begin(t *testing.T, m *machine, version store.Version, steps int) *stepped {
	t.Helper()
	s, p := boot(t, m)
	w := &stepped{process: p, arrived: make(chan struct{}), permits: make(chan struct{}), done: make(chan error, 1), left: steps}
	p.before = func() {
		w.arrived <- struct{}{}
		<-w.permits
	}
	go func() {
		_, err := s.Swap(t.Context(), testKey, version, []byte("new"))
		w.done <- err
	}()
	<-w.arrived
	return w
}

// advance makes n steps of the swap.
func (w *stepped) advance(t *testing.T, n int) {
	t.Helper()
	for range n {
		w.left--
		w.permits <- struct{}{}
		select {
		case <-w.arrived:
		case err := <-w.done:
			if err != nil || w.left > 0 {
				t.Fatalf("the swap ended %d steps early: %v", w.left, err)
			}
		}
	}
}

// TestReadingBesideASwapOutlivesALossOfPower makes each step of a reader between
// each two of a writer, and then the power fails: the swap that was seen is still
// there, whatever of the rest was lost. The order of the reader's steps is part of that: see
// [Store.Get].
func TestReadingBesideASwapOutlivesALossOfPower(t *testing.T) {
	base, version := prepared(t, true)
	trial, p := boot(t, base.clone())
	steps := -p.step
	if _, err := trial.Swap(t.Context(), testKey, version, []byte("new")); err != nil {
		t.Fatal(err)
	}
	steps += p.step
	seen := map[string]int{}
	for c := (choices{}); ; {
		m := base.clone()
		reader, q := boot(t, m)
		w := begin(t, m, version, steps)
		// When the reader waits for the writer, the writer comes to its end.
		reader.clock = &countingClock{limit: 1, reached: func() { w.advance(t, w.left) }}
		q.before = func() { w.advance(t, c.pick(w.left+1)) }
		e, err := reader.Get(t.Context(), testKey)
		if err != nil {
			t.Fatal(err)
		}
		if seen[string(e.Value)]++; string(e.Value) == "new" {
			afterEveryPowerLoss(m, func(m *machine) {
				if got := read(t, m); got != "new" {
					t.Fatalf("the writer's steps are %q, the reader's %q: it read \"new\", and after a power loss there is %q", w.process.trace, q.trace, got)
				}
			})
		}
		w.advance(t, w.left)
		if !c.next() {
			break
		}
	}
	if seen["old"] == 0 || seen["new"] == 0 {
		t.Errorf("seen %v: the test does not reach both", seen)
	}
}
