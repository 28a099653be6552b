package roster_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

// TestHolderWhoseRegisterIsOperatedOnLosesItsTermAndNoIDRepeats lets a holder run
// while an operator releases, quarantines or raises its worker id, and another one
// claims it.
func TestHolderWhoseRegisterIsOperatedOnLosesItsTermAndNoIDRepeats(t *testing.T) {
	operations := map[string]func(context.Context, *roster.Roster, roster.Worker) (roster.Worker, error){
		"release": func(ctx context.Context, r *roster.Roster, w roster.Worker) (roster.Worker, error) {
			return release(ctx, r, w)
		},
		"quarantine and clear": func(ctx context.Context, r *roster.Roster, w roster.Worker) (roster.Worker, error) {
			w, err := quarantine(ctx, r, w, true)
			if err != nil {
				return w, err
			}
			return quarantine(ctx, r, w, false)
		},
		"raise": func(ctx context.Context, r *roster.Roster, w roster.Worker) (roster.Worker, error) {
			return raise(ctx, r, w, w.Register.Until+100)
		},
	}
	for name, operate := range operations {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := memstore.New()
				var mu sync.Mutex
				var losses []fence.Loss
				var first *fence.Holder
				first, err := hold(t, memory.Client(), 5, func(c *fence.Config) {
					c.OnLoss = func(l fence.Loss) {
						mu.Lock()
						losses = append(losses, l)
						mu.Unlock()
						_ = first.Close(context.Background()) // else it may be the next one itself
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				seen := map[snowfence.ID]string{}
				mint := func(who string, h *fence.Holder) bool {
					ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
					defer cancel()
					id, err := h.Next(ctx)
					if err != nil {
						return false
					}
					if other := seen[id]; other != "" {
						t.Fatalf("%s repeats id %s of %s", who, id, other)
					}
					seen[id] = who
					return true
				}
				for range 10 {
					mint("first", first)
				}
				r, err := roster.Open(t.Context(), roster.Config{Store: memory.Client()})
				if err != nil {
					t.Fatal(err)
				}
				before, err := r.Worker(t.Context(), 5)
				if err != nil {
					t.Fatal(err)
				}
				if before.State != roster.Held {
					t.Fatalf("before: %s", before)
				}
				after, err := operate(t.Context(), r, before)
				if err != nil {
					t.Fatal(err)
				}
				if after.Register.Until < before.Register.Until {
					t.Errorf("until came down from %d to %d", before.Register.Until, after.Register.Until)
				}
				// The first one does not know yet, and goes on below its bound.
				if !mint("first", first) {
					t.Error("the holder stopped before it looked")
				}
				second := make(chan *fence.Holder, 1)
				go func() {
					h, err := hold(t, memory.Client(), 5, func(c *fence.Config) {
						c.ClaimWait, c.Process.PID = time.Minute, 8
					})
					if err != nil {
						t.Errorf("claim by the second: %v", err)
					}
					second <- h
				}()
				// Quarantined and cleared it still has its holder, who does not extend
				// any more: it comes free with its ticks.
				var other *fence.Holder
				for range 2000 {
					pass(5 * time.Millisecond)
					mint("first", first)
					select {
					case other = <-second:
					default:
					}
					if other != nil {
						mint("second", other)
					}
				}
				if other == nil {
					t.Fatal("nobody could claim it")
				}
				mu.Lock()
				if len(losses) == 0 || !errors.Is(losses[0].Reason, fence.ErrLost) {
					t.Errorf("losses of the first: %v", losses)
				}
				mu.Unlock()
				for _, h := range []*fence.Holder{first, other} {
					ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
					if err := h.Close(ctx); err != nil {
						t.Logf("close: %v", err)
					}
					cancel()
				}
			})
		})
	}
}

func TestReleaseClearsTheHolderAndNothingElse(t *testing.T) {
	w := newWorld(t)
	r := w.roster()
	x := w.register(r, quarantined)
	w.put(r, 5, x)
	after, err := release(t.Context(), r, w.read(r, 5))
	if err != nil {
		t.Fatal(err)
	}
	stored := w.read(r, 5)
	if stored.Register != after.Register {
		t.Errorf("stored %+v, returned %+v", stored.Register, after.Register)
	}
	want := x
	want.Holder, want.Write, want.Clock = "", stored.Register.Write, w.now
	if stored.Register != want {
		t.Errorf("got  %+v\nwant %+v", stored.Register, want)
	}
	if stored.Register.Write == x.Write {
		t.Error("the write has no mark of its own")
	}
}

func TestOperationsOnWhatIsNotTheirsAreRefusedAndWriteNothing(t *testing.T) {
	w := newWorld(t)
	r := w.roster()
	w.put(r, 1, w.register(r, released))
	w.put(r, 2, w.register(r, func(x *stored.Register) { x.Incarnation = strings.Repeat("ab", 16) }))
	w.putBytes(stored.RegisterKey(r.Name(), r.Layout(), 3), []byte("not json"))
	tests := []struct {
		number int64
		want   error
	}{{0, roster.ErrNotHeld}, {1, roster.ErrNotHeld}, {2, roster.ErrUnusable}, {3, roster.ErrUnusable}}
	for _, test := range tests {
		x := w.read(r, test.number)
		before, _ := w.store.Get(t.Context(), x.Key)
		if _, err := release(t.Context(), r, x); !errors.Is(err, test.want) || snowfence.ClassOf(err) != snowfence.ClassFinal {
			t.Errorf("release worker %d: %v, want %v", test.number, err, test.want)
		}
		if errors.Is(test.want, roster.ErrUnusable) {
			if _, err := quarantine(t.Context(), r, x, true); !errors.Is(err, test.want) {
				t.Errorf("quarantine worker %d: %v, want %v", test.number, err, test.want)
			}
		}
		if after, _ := w.store.Get(t.Context(), x.Key); after.Version != before.Version {
			t.Errorf("worker %d was written to", test.number)
		}
	}
	if _, err := r.Worker(t.Context(), 16); err == nil {
		t.Error("worker 16 of 16 was read")
	}
}

func TestRegisterThatChangedSinceItWasReadIsNotTouched(t *testing.T) {
	w, r := heldWorld(t)
	seen := w.read(r, 5)
	extended := w.register(r, func(x *stored.Register) { x.Until, x.Write = x.Until+1000, "fedcba9876543210" })
	w.put(r, 5, extended)
	for name, operate := range map[string]func() error{
		"release":    func() error { _, err := release(t.Context(), r, seen); return err },
		"quarantine": func() error { _, err := quarantine(t.Context(), r, seen, true); return err },
		"raise":      func() error { _, err := raise(t.Context(), r, seen, extended.Until+5000); return err },
	} {
		err := operate()
		var conflict *roster.ConflictError
		if !errors.As(err, &conflict) || !errors.Is(err, store.ErrConflict) || conflict.Unsure != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if conflict.Now.Register.Until != extended.Until || snowfence.ClassOf(err) != snowfence.ClassUnknown {
			t.Errorf("%s: shows until %d, want %d", name, conflict.Now.Register.Until, extended.Until)
		}
		if got := w.read(r, 5).Register; got.Write != extended.Write {
			t.Errorf("%s: wrote %+v", name, got)
		}
	}
}

func TestWriteWhoseReplyIsLostIsFoundOutAndMadeOnce(t *testing.T) {
	for name, fault := range map[string]faultstore.Fault{
		"failed before it took effect": {Before: true},
		"reply lost":                   {LostReply: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, r, faulty := faultyWorld(t)
				key := stored.RegisterKey(r.Name(), r.Layout(), 5)
				faulty.Follow(faultstore.Nth(faultstore.Swap, key, 1, fault))
				after, err := release(t.Context(), r, w.read(r, 5))
				if err != nil {
					t.Fatal(err)
				}
				if stored := w.read(r, 5); stored.Register.Holder != "" || stored.Register.Write != after.Register.Write {
					t.Errorf("stored %+v, returned %+v", stored.Register, after.Register)
				}
			})
		})
	}
}

func TestWriteThatGetsNoAnswerSaysThatItsOutcomeIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r, faulty := faultyWorld(t)
		seen := w.read(r, 5)
		faulty.Follow(faultstore.Only(faultstore.Always(faultstore.Fault{Before: true}), func(c faultstore.Call) bool { return c.Verb == faultstore.Swap }))
		_, err := release(t.Context(), r, seen)
		if !errors.Is(err, faultstore.ErrInjected) || !strings.Contains(err.Error(), "outcome is unknown") || snowfence.ClassOf(err) != snowfence.ClassUnknown {
			t.Errorf("got %v", err)
		}
	})
}

func TestQuarantineOfAWorkerThatWasNeverClaimedKeepsItFromBeingClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		r, err := roster.Create(t.Context(), roster.Config{Store: memory.Client()}, testLayout(), nil)
		if err != nil {
			t.Fatal(err)
		}
		w, err := r.Worker(t.Context(), 9)
		if err != nil || w.Exists {
			t.Fatalf("worker 9: %v, %v", w, err)
		}
		if w, err = quarantine(t.Context(), r, w, true); err != nil || w.State != roster.Quarantined {
			t.Fatalf("quarantine: %v, %v", w, err)
		}
		again, err := quarantine(t.Context(), r, w, true)
		if err != nil || again.Register.Write != w.Register.Write {
			t.Errorf("the same mark was written twice: %v", err)
		}
		var held *fence.HeldError
		if _, err := hold(t, memory.Client(), 9); !errors.As(err, &held) || held.Standing != stored.Quarantined {
			t.Errorf("claim: %v", err)
		}
		if w, err = quarantine(t.Context(), r, w, false); err != nil || w.State != roster.Free {
			t.Fatalf("clear: %v, %v", w, err)
		}
		h, err := hold(t, memory.Client(), 9)
		if err != nil {
			t.Fatal(err)
		}
		if term := h.Status().Term; term != 2 {
			t.Errorf("term %d, want 2", term)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestRaisedWorkerIsFlooredForGood(t *testing.T) {
	w := newWorld(t)
	r := w.roster()
	now := r.Layout().TickAt(w.now)
	tests := []struct {
		name     string
		register func(*stored.Register) // nil: none
		floor    snowfence.Tick
		kept     bool
	}{
		{"never claimed", nil, now, false},
		{"released below", func(x *stored.Register) { released(x); x.Until = now - 5 }, now, false},
		{"released at", func(x *stored.Register) { released(x); x.Until = now }, now, true},
		{"released above", func(x *stored.Register) { released(x); x.Until = now + 5 }, now, true},
		{"held below", func(x *stored.Register) { x.Until = now - 5 }, now, false},
		{"held above, begun at", func(x *stored.Register) { x.Floor = now }, now, true},
		// Its release could lower until to its floor.
		{"held above, begun below", func(x *stored.Register) { x.Floor = now - 1 }, now, false},
		{"quarantined below", func(x *stored.Register) { released(x); quarantined(x); x.Until = now - 5 }, now, false},
		{"used up, held, begun below", func(x *stored.Register) { x.Until = r.Layout().HorizonTick() }, now, false},
		{"foreign", func(x *stored.Register) { x.Incarnation = strings.Repeat("ab", 16) }, now, true},
	}
	for i, test := range tests {
		number := int64(i)
		var before stored.Register
		if test.register != nil {
			before = w.register(r, test.register)
			w.put(r, number, before)
		}
		seen := w.read(r, number)
		if seen.Floored(test.floor) != test.kept {
			t.Errorf("%s: floored %v", test.name, !test.kept)
		}
		if _, err := raise(t.Context(), r, seen, test.floor); err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		after := w.read(r, number)
		x := after.Register
		switch {
		case !after.Floored(test.floor):
			t.Errorf("%s: not floored", test.name)
		case test.kept && x != before:
			t.Errorf("%s: written to: %+v", test.name, x)
		case test.kept:
		case x.Term != before.Term+1 || x.Holder != "" || x.Floor != x.Until || x.Until != max(before.Until, test.floor) || x.Quarantined != before.Quarantined || x.Window != before.Window:
			t.Errorf("%s: %+v", test.name, x)
		}
	}
	if _, err := raise(t.Context(), r, w.read(r, 0), r.Layout().HorizonTick()); err == nil {
		t.Error("a floor at the horizon was set")
	}
}

func TestDryRosterWritesNothing(t *testing.T) {
	w, r := heldWorld(t)
	seen := w.read(r, 5)
	after, err := release(t.Context(), r.Dry(), seen)
	if err != nil || after.Register.Holder != "" {
		t.Errorf("dry release: %v, %v", after, err)
	}
	if got := w.read(r, 5); got.Register != seen.Register {
		t.Errorf("written: %+v", got.Register)
	}
}

func TestCreateMakesANamespaceOnceAndHoldsToIt(t *testing.T) {
	w := newWorld(t)
	if _, err := roster.Open(t.Context(), w.config()); !errors.Is(err, roster.ErrNoNamespace) {
		t.Fatalf("open: %v", err)
	}
	first := w.roster(1, 2)
	if got := w.roster().Record().Incarnation; got != first.Record().Incarnation {
		t.Errorf("incarnation %s, then %s", first.Record().Incarnation, got)
	}
	if first.Capacity() != 8 || !first.Own(7) || first.Own(3) || first.Own(16) {
		t.Errorf("capacity %d", first.Capacity())
	}
	var mismatch *stored.LayoutMismatchError
	if _, err := roster.Create(t.Context(), w.config(), snowfence.DefaultLayout(), nil); !errors.As(err, &mismatch) || snowfence.ClassOf(err) != snowfence.ClassUsage {
		t.Errorf("another layout: %v", err)
	}
	var config *stored.ConfigError
	if _, err := roster.Create(t.Context(), w.config(), testLayout(), []int64{3}); !errors.As(err, &config) {
		t.Errorf("other datacenters: %v", err)
	}
	// A holder takes its mark for its own.
	number := int64(5)
	h, err := fence.Open(t.Context(), fence.Config{Store: w.store, Layout: testLayout(), Worker: &number, Clock: still{snowfence.SystemClock(), &w.now}})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
