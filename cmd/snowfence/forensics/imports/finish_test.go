package imports_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence/cmd/snowfence/forensics/imports"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store/memstore"
)

// TestFloorsOfATakeOverThatWasInterruptedAreConfirmedToo runs one again that
// ended when its floors were written and not confirmed.
func TestFloorsOfATakeOverThatWasInterruptedAreConfirmedToo(t *testing.T) {
	const loss = 2 * time.Second
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.NewWith(memstore.Config{Loss: loss})
		r := planned(t, begun, 0, 1, 2)
		namespace, plan := draft(t, memory.Client(), r)
		pass(time.Hour) // a namespace that is not young is not waited for
		interrupted, interrupt := context.WithCancelCause(t.Context())
		killed, done := errors.New("killed"), 0
		err := imports.Apply(interrupted, namespace, plan, roster.Patience{}, func(imports.Step) {
			if done++; done == len(plan.Steps) {
				interrupt(killed)
			}
		})
		if !errors.Is(err, killed) {
			t.Fatalf("interrupted: %v", err)
		}
		again, err := take(t, memory.Client(), r)
		if fmt.Sprint(again) != "[keep keep keep]" || err != nil {
			t.Fatalf("again: %v, %v", again, err)
		}
		if _, err := memory.Failover(loss); err != nil {
			t.Fatal(err)
		}
		floored(t, memory, r)
	})
}

// TestFloorThatTheStoreTookBackIsNoSuccess has registers with a lower floor, which
// are there again when a failover has taken the new one away.
func TestFloorThatTheStoreTookBackIsNoSuccess(t *testing.T) {
	const loss = 2 * time.Second
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.NewWith(memstore.Config{Loss: loss})
		if _, err := take(t, memory.Client(), planned(t, begun.Add(-time.Hour), 0, 1, 2)); err != nil {
			t.Fatal(err)
		}
		pass(3 * loss)
		r := planned(t, begun, 0, 1, 2)
		namespace, plan := draft(t, memory.Client(), r)
		done := 0
		err := imports.Apply(t.Context(), namespace, plan, roster.Patience{}, func(imports.Step) {
			if done++; done < len(plan.Steps) {
				return
			}
			if _, err := memory.Failover(loss); err != nil {
				t.Error(err)
			}
		})
		if !errors.As(err, new(*roster.UncertainError)) {
			t.Errorf("it returned %v", err)
		}
		if done, err := take(t, memory.Client(), r); fmt.Sprint(done) != "[raise raise raise]" || err != nil {
			t.Errorf("again: %v, %v", done, err)
		}
		floored(t, memory, r)
	})
}

// TestClaimThatTookALostFloorsPlaceIsNoSuccess has a failover take the floor away
// while the take-over waits, and a new holder claim there, above the floor by its
// clock: if the store loses that claim too, nothing is left of the floor. A claim that the floor
// guarded looks the same. When the take-over is repeated, the claim is old enough at the end.
func TestClaimThatTookALostFloorsPlaceIsNoSuccess(t *testing.T) {
	const loss = 2 * time.Second
	synctest.Test(t, func(t *testing.T) {
		for _, lost := range []bool{true, false} {
			memory := memstore.NewWith(memstore.Config{Loss: loss})
			r := planned(t, begun, 0)
			namespace, plan := draft(t, memory.Client(), r)
			pass(time.Hour)
			opened := make(chan *fence.Holder, 1)
			err := imports.Apply(t.Context(), namespace, plan, roster.Patience{}, func(imports.Step) {
				if lost {
					if _, err := memory.Failover(loss); err != nil {
						t.Error(err)
					}
				}
				go func() {
					h, err := claim(t, memory.Client(), 0, 0, func(c *fence.Config) { c.Window = time.Minute })
					if err != nil {
						t.Error(err)
					}
					opened <- h
				}()
				synctest.Wait()
			})
			if !errors.As(err, new(*roster.UncertainError)) {
				t.Errorf("with the floor lost being %t it returned %v", lost, err)
			}
			if _, err := take(t, memory.Client(), r); err != nil {
				t.Errorf("repeated, with the floor lost being %t: %v", lost, err)
			}
			if _, err := memory.Failover(loss); err != nil {
				t.Error(err)
			}
			floored(t, memory, r)
			pass(2 * loss)
			shut(t, <-opened)
		}
	})
}

// TestFloorThatCannotBeSetIsNoSuccess has two registers that this program can't
// read: whoever can, a newer program or this one once they are repaired, would
// claim them below the floor.
func TestFloorThatCannotBeSetIsNoSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		r := planned(t, begun, 0, 1, 2, 3)
		namespace, err := roster.Create(t.Context(), roster.Config{Store: memory.Client()}, r.Layout, nil)
		if err != nil {
			t.Fatal(err)
		}
		for worker, value := range map[int64]string{1: `{"format":2}`, 2: `{`} {
			if _, err := memory.Client().Swap(t.Context(), stored.RegisterKey("default", r.Layout, worker), "", []byte(value)); err != nil {
				t.Fatal(err)
			}
		}
		plan, err := imports.Draft(t.Context(), namespace, r)
		if err != nil || plan.Writes() != 2 || plan.Steps[1].Action != imports.Unset || !strings.Contains(plan.Steps[1].Note, "unreadable") {
			t.Errorf("plan %+v, %v", plan, err)
		}
		done, err := take(t, memory.Client(), r)
		if fmt.Sprint(done) != "[create unset unset create]" || !errors.Is(err, roster.ErrUnusable) || !strings.Contains(err.Error(), "worker 1") {
			t.Errorf("%v, %v", done, err)
		}
		for _, worker := range []int64{0, 3} {
			if w := read(t, memory, worker); !w.Floored(r.Floor) {
				t.Errorf("worker %d has no floor: %s", worker, w)
			}
		}
	})
}
