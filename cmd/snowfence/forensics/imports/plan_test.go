package imports_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/imports"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

// TestNoIDOfTheOldSystemIsIssuedAgain takes over from workers whose clocks were
// right or ahead by the margin, and claims their worker ids with clocks that are
// right, behind by a little, and behind by an hour.
func TestNoIDOfTheOldSystemIsIssuedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		old := map[snowfence.ID]bool{}
		for w := range int64(3) {
			oldIDs(t, w, begun.Add(time.Duration(w)*imports.DefaultMargin/2), old)
		}
		if _, err := take(t, memory.Client(), planned(t, begun, 0, 1, 2)); err != nil {
			t.Fatal(err)
		}
		mint := func(h *fence.Holder, n int) {
			t.Helper()
			ids := make([]snowfence.ID, n)
			if err := h.Fill(t.Context(), ids); err != nil {
				t.Fatal(err)
			}
			for _, id := range ids {
				if old[id] {
					t.Fatalf("id %s of the old system was issued again", id)
				}
				old[id] = true
			}
		}

		// A right clock has it at once: the margin is no more than max-rollback.
		started := time.Now()
		h, err := claim(t, memory.Client(), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(started); took > 100*time.Millisecond {
			t.Errorf("the claim took %s", took)
		}
		mint(h, 20_000)
		shut(t, h)

		// One that is behind by a little waits.
		h, err = claim(t, memory.Client(), 1, -3*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(started); took < 2*time.Second {
			t.Errorf("a clock that is 3 s behind had it after %s", took)
		}
		mint(h, 20_000)
		shut(t, h)

		// One that is behind by an hour is refused with the reason, or waits an hour.
		_, err = claim(t, memory.Client(), 2, -time.Hour)
		var clock *fence.ClockError
		if !errors.As(err, &clock) || clock.Offset > -50*time.Minute {
			t.Errorf("a clock an hour behind: %v", err)
		}
		h, err = claim(t, memory.Client(), 2, -time.Hour, func(c *fence.Config) { c.ClaimWait = 2 * time.Hour })
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(started); took < 50*time.Minute {
			t.Errorf("a clock an hour behind had it after %s", took)
		}
		mint(h, 20_000)
		shut(t, h)
	})
}

func TestTakeOverRunTwiceChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		r := planned(t, begun, 0, 1, 2)
		first, err := take(t, memory.Client(), r)
		if err != nil || fmt.Sprint(first) != "[create create create]" {
			t.Fatalf("%v, %v", first, err)
		}
		before := dump(t, memory)
		second, err := take(t, memory.Client(), r)
		if err != nil || fmt.Sprint(second) != "[keep keep keep]" {
			t.Errorf("%v, %v", second, err)
		}
		if after := dump(t, memory); after != before {
			t.Errorf("before %s\nafter %s", before, after)
		}
		// Nor after the worker ids were used.
		h, err := claim(t, memory.Client(), 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		if third, err := take(t, memory.Client(), r); err != nil || fmt.Sprint(third) != "[keep keep keep]" {
			t.Errorf("%v, %v", third, err)
		}
		shut(t, h)
		// A later one raises.
		pass(time.Minute)
		if fourth, err := take(t, memory.Client(), planned(t, begun.Add(time.Minute), 0, 1, 2)); err != nil || fmt.Sprint(fourth) != "[raise raise raise]" {
			t.Errorf("%v, %v", fourth, err)
		}
	})
}

func TestTakeOverThatWasInterruptedIsFinishedByRunningItAgain(t *testing.T) {
	for stopped := range 4 {
		synctest.Test(t, func(t *testing.T) {
			memory := memstore.New()
			faulty := faultstore.New(memory.Client(), nil, nil)
			r := planned(t, begun, 0, 1, 2, 3)
			key := stored.RegisterKey("default", r.Layout, int64(stopped))
			faulty.Follow(faultstore.Only(faultstore.Always(faultstore.Fault{Before: true}), func(c faultstore.Call) bool {
				return c.Verb == faultstore.Swap && c.Key == key
			}))
			done, err := take(t, faulty, r)
			if !errors.Is(err, faultstore.ErrInjected) || len(done) != stopped {
				t.Fatalf("%v, %v", done, err)
			}
			again, err := take(t, memory.Client(), r)
			if err != nil {
				t.Fatal(err)
			}
			for i, action := range again {
				if want := map[bool]imports.Action{true: imports.Keep, false: imports.Create}[i < stopped]; action != want {
					t.Errorf("stopped at %d: worker %d: %s", stopped, i, action)
				}
			}
			floored(t, memory, r)
		})
	}
}

func TestTermThatBeganBelowTheFloorIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		// Somebody was too early: it holds worker 1 with a clock an hour behind, and
		// a window beyond the floor.
		h, err := claim(t, memory.Client(), 1, -time.Hour, func(c *fence.Config) { c.Window = 3 * time.Hour })
		if err != nil {
			t.Fatal(err)
		}
		r := planned(t, begun, 1)
		before := read(t, memory, 1)
		if before.Register.Until <= r.Floor || before.Register.Floor >= r.Floor {
			t.Fatalf("floor %d, register %+v", r.Floor, before.Register)
		}
		done, err := take(t, memory.Client(), r)
		if err != nil || fmt.Sprint(done) != "[end]" {
			t.Fatalf("%v, %v", done, err)
		}
		// Its release lowers nothing any more.
		shut(t, h)
		if after := read(t, memory, 1); after.Register.Until < before.Register.Until || !after.Floored(r.Floor) {
			t.Errorf("after its release: %+v", after.Register)
		}
	})
}

func TestTakeOverIntoAnotherLayoutOrForeignDatacentersIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		r := planned(t, begun, 0)
		other := oldLayout()
		other.Epoch = other.Epoch.Add(8 * time.Hour)
		namespace, err := roster.Create(t.Context(), roster.Config{Store: memory.Client()}, other, nil)
		if err != nil {
			t.Fatal(err)
		}
		var mismatch *stored.LayoutMismatchError
		if _, err := imports.Draft(t.Context(), namespace, r); !errors.As(err, &mismatch) {
			t.Errorf("draft: %v", err)
		}
		if err := imports.Apply(t.Context(), namespace, r, roster.Patience{}, nil); !errors.As(err, &mismatch) {
			t.Errorf("apply: %v", err)
		}

		split := oldLayout()
		split.Fields = []snowfence.Field{{Kind: snowfence.Time, Bits: 41}, {Kind: snowfence.Datacenter, Bits: 5}, {Kind: snowfence.Worker, Bits: 5}, {Kind: snowfence.Sequence, Bits: 12}}
		namespace, err = roster.Create(t.Context(), roster.Config{Store: memory.Client(), Namespace: "split"}, split, []int64{2})
		if err != nil {
			t.Fatal(err)
		}
		r.Layout = split
		if _, err := imports.Draft(t.Context(), namespace, r); snowfence.ClassOf(err) != snowfence.ClassUsage || !strings.Contains(err.Error(), "worker is 0") {
			t.Errorf("draft: %v", err)
		}
	})
}

// TestFloorsOnALossyStoreOutliveItsFailover lets a lossy store fail at every moment of a take-over: it ends
// with an error, or its floors are there for good. The store's clock may be far from this
// host's, so that a fresh write looks old.
func TestFloorsOnALossyStoreOutliveItsFailover(t *testing.T) {
	const loss = 2 * time.Second
	finished := map[time.Duration]int{}
	for at := time.Duration(0); at < 4*loss; at += 150 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			by := time.Duration(at.Milliseconds()/150%3-1) * time.Hour
			memory := memstore.NewWith(memstore.Config{Loss: loss, Now: func() time.Time { return time.Now().Add(by) }})
			r := planned(t, begun, 0, 1, 2)
			failed := make(chan struct{})
			go func() {
				defer close(failed)
				pass(at)
				if _, err := memory.Failover(loss); err != nil {
					t.Error(err)
				}
			}()
			namespace, err := roster.Create(t.Context(), roster.Config{Store: memory.Client()}, r.Layout, nil)
			pass(400 * time.Millisecond) // in which the namespace may be lost
			var plan imports.Plan
			if err == nil {
				plan, err = imports.Draft(t.Context(), namespace, r)
			}
			if err == nil {
				err = imports.Apply(t.Context(), namespace, plan, roster.Patience{}, nil)
			}
			if err != nil {
				<-failed
				return
			}
			finished[by]++
			<-failed
			if _, err := memory.Failover(loss); err != nil {
				t.Error(err)
			}
			floored(t, memory, r)
		})
	}
	if len(finished) < 3 {
		t.Errorf("take-overs were finished by the clocks %v", finished)
	}
}
