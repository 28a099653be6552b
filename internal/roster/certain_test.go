package roster_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/stored"
)

const writeLoss = 15 * time.Second

// TestWriteThatIsSaidToBeDoneIsNotLost has a store lose operators' writes: right after a verb has
// returned, and while it waits. A verb that does not wait does no harm when it is lost: the
// worker id is then less free than the verb reported.
func TestWriteThatIsSaidToBeDoneIsNotLost(t *testing.T) {
	type verb = func(ctx context.Context, r *roster.Roster, d *roster.Desk, w roster.Worker) (roster.Worker, error)
	quarantine := func(ctx context.Context, _ *roster.Roster, d *roster.Desk, w roster.Worker) (roster.Worker, error) {
		return d.Quarantine(ctx, w, true)
	}
	raise := func(ctx context.Context, r *roster.Roster, d *roster.Desk, w roster.Worker) (roster.Worker, error) {
		return d.Raise(ctx, w, r.Layout().TickAt(begun.Add(2*time.Hour)))
	}
	clearing := func(ctx context.Context, _ *roster.Roster, d *roster.Desk, w roster.Worker) (roster.Worker, error) {
		return d.Quarantine(ctx, w, false)
	}
	releasing := func(ctx context.Context, _ *roster.Roster, d *roster.Desk, w roster.Worker) (roster.Worker, error) {
		return d.Release(ctx, w)
	}
	for name, x := range map[string]struct {
		before func(*stored.Register) // nil: there is no register
		do     verb
		waits  bool
		state  roster.State // reported by the verb
		lost   roster.State // if the write is lost
	}{
		"quarantine of a new worker id":  {nil, quarantine, true, roster.Quarantined, roster.Free},
		"quarantine of a held worker id": {func(*stored.Register) {}, quarantine, true, roster.Quarantined, roster.Held},
		"quarantine, where the mark is there": {func(x *stored.Register) { quarantined(x); x.Clock = begun.Add(time.Hour) }, quarantine, true,
			roster.Quarantined, roster.Quarantined},
		"raise of a new worker id":  {nil, raise, true, roster.Resting, roster.Free},
		"raise of a held worker id": {func(*stored.Register) {}, raise, true, roster.Resting, roster.Held},
		"clear":                     {func(x *stored.Register) { quarantined(x); released(x) }, clearing, false, roster.Resting, roster.Quarantined},
		"release":                   {func(*stored.Register) {}, releasing, false, roster.Resting, roster.Held},
	} {
		t.Run(name, func(t *testing.T) {
			for _, at := range []time.Duration{2 * time.Second, 6 * time.Second} {
				synctest.Test(t, func(t *testing.T) {
					w, r := lossy(t)
					if x.before != nil {
						w.put(r, 5, w.register(r, x.before))
						pass(2 * writeLoss)
					}
					time.AfterFunc(at, func() { w.failover(5 * time.Second) })
					start := time.Now()
					err := r.Operate(t.Context(), roster.Patience{}, func(d *roster.Desk) error {
						after, err := x.do(t.Context(), r, d, w.read(r, 5))
						if err == nil && after.State != x.state {
							t.Errorf("it is reported as %s", after.State)
						}
						return err
					})
					lost := at < 5*time.Second && x.waits && x.lost != x.state
					if took := time.Since(start); errors.As(err, new(*roster.UncertainError)) != lost || err != nil && !lost || (took == writeLoss) != x.waits {
						t.Errorf("after %s it returned %v", took, err)
					}
					want := x.state
					if !x.waits || lost {
						want = x.lost
					}
					w.failover(writeLoss)
					if got := w.read(r, 5); got.State != want {
						t.Errorf("it is %s, want %s", got, want)
					}
				})
			}
		})
	}
}

// TestMarkThatOthersWriteOverIsConfirmedAnew has other operators write a register while the
// first one waits. Their write hides whether the store lost the mark before.
func TestMarkThatOthersWriteOverIsConfirmedAnew(t *testing.T) {
	for name, x := range map[string]struct {
		by        func(ctx context.Context, d *roster.Desk, w roster.Worker) (roster.Worker, error)
		lost      bool
		took      time.Duration
		uncertain bool
	}{
		"released": {by: func(ctx context.Context, d *roster.Desk, w roster.Worker) (roster.Worker, error) {
			return d.Release(ctx, w)
		}, took: 2 * writeLoss},
		"cleared": {by: func(ctx context.Context, d *roster.Desk, w roster.Worker) (roster.Worker, error) {
			return d.Quarantine(ctx, w, false)
		}, took: writeLoss, uncertain: true},
		"lost, and quarantined again": {by: func(ctx context.Context, d *roster.Desk, w roster.Worker) (roster.Worker, error) {
			return d.Quarantine(ctx, w, true)
		}, lost: true, took: 2 * writeLoss},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, r := lossy(t)
				w.put(r, 5, w.register(r))
				pass(2 * writeLoss)
				time.AfterFunc(writeLoss-time.Second, func() {
					if x.lost {
						w.failover(writeLoss)
					}
					err := r.Operate(ended(t), roster.Patience{}, func(d *roster.Desk) error {
						_, err := x.by(context.Background(), d, w.read(r, 5))
						return err
					})
					if err != nil && !errors.As(err, new(*roster.UncertainError)) {
						t.Error(err)
					}
				})
				start := time.Now()
				_, err := quarantine(t.Context(), r, w.read(r, 5), true)
				if took := time.Since(start); took != x.took || errors.As(err, new(*roster.UncertainError)) != x.uncertain || err != nil && !x.uncertain {
					t.Fatalf("after %s it returned %v", took, err)
				}
				w.failover(writeLoss)
				if got := w.read(r, 5); !x.uncertain && got.State != roster.Quarantined {
					t.Errorf("it is %s", got)
				}
			})
		})
	}
}

// TestFloorIsUncertainIfItsWorkerIDIsClaimedMeanwhile has a store lose a floor. Then a process whose clock is
// behind claims the worker id, and stamps ticks below the floor. The register has lost its trace at the end.
func TestFloorIsUncertainIfItsWorkerIDIsClaimedMeanwhile(t *testing.T) {
	claim := func(term int64, holder string, below snowfence.Tick) func(*stored.Register) {
		return func(x *stored.Register) { // until lies beyond the floor
			x.Term, x.Holder = term, strings.Repeat(holder, 32)
			x.Floor = x.Until - 50_000 - below
		}
	}
	for name, claims := range map[string][]func(*stored.Register){
		"and again above the floor":                    {claim(1, "a", 1000), claim(2, "b", 0)},
		"and again above the floor, and released":      {claim(1, "a", 1000), claim(2, "", 0)},
		"with a window beyond the floor, and released": {claim(1, "", 1000)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, r := lossy(t)
				floor := r.Layout().TickAt(w.now)
				time.AfterFunc(time.Second, func() {
					w.failover(writeLoss)
					for _, claim := range claims {
						w.put(r, 5, w.register(r, claim))
					}
				})
				_, err := raise(t.Context(), r, w.read(r, 5), floor)
				if !errors.As(err, new(*roster.UncertainError)) {
					t.Errorf("ticks below the floor may have been stamped, and it returns %v", err)
				}
				if _, err := raise(t.Context(), r, w.read(r, 5), floor); err != nil {
					t.Errorf("repeated: %v", err)
				}
				w.failover(writeLoss)
				if got := w.read(r, 5); !got.Floored(floor) {
					t.Errorf("it has no floor: %s", got)
				}
			})
		})
	}
}

// TestWriteIsUncertainIfItsNamespaceIsReplacedMeanwhile has a store lose the namespace's record together with
// the write. Another process founds the namespace again. Its registers are not the verb's.
func TestWriteIsUncertainIfItsNamespaceIsReplacedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := lossyWorld(t, writeLoss, nil)
		r := w.roster()
		time.AfterFunc(time.Second, func() {
			w.failover(writeLoss)
			again := w.roster()
			w.put(again, 5, w.register(again))
		})
		_, err := raise(t.Context(), r, w.read(r, 5), r.Layout().TickAt(w.now.Add(time.Hour)))
		if !errors.As(err, new(*roster.UncertainError)) || !errors.Is(err, stored.ErrNamespaceReplaced) {
			t.Errorf("it returned %v", err)
		}
	})
}

// TestOperatorWhoDoesNotWaitIsUncertain has an operator who goes on at once, and learns from when on
// to do it again, also beside the failure of a later worker id.
func TestOperatorWhoDoesNotWaitIsUncertain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := lossy(t)
		next := errors.New("the next one fails")
		start := time.Now()
		err := r.Operate(ended(t), roster.Patience{}, func(d *roster.Desk) error {
			if _, err := d.Quarantine(t.Context(), w.read(r, 5), true); err != nil {
				return err
			}
			return next
		})
		var uncertain *roster.UncertainError
		if !errors.As(err, &uncertain) || !errors.Is(err, next) || time.Since(start) > 0 ||
			uncertain.What != "worker 5" || !uncertain.Until.Equal(start.Add(writeLoss)) {
			t.Errorf("it returned %v", err)
		}
	})
}

// ended is the context of an operator who was interrupted.
func ended(t *testing.T) context.Context {
	ctx, end := context.WithCancel(t.Context())
	end()
	return ctx
}

// lossy is a namespace that is an hour old, in a lossy store.
func lossy(t *testing.T) (*world, *roster.Roster) {
	w := lossyWorld(t, writeLoss, nil)
	r := w.roster()
	pass(time.Hour)
	w.now = begun.Add(time.Hour)
	return w, r
}

func (w *world) failover(lag time.Duration) {
	w.t.Helper()
	if _, err := w.memory.Failover(lag); err != nil {
		w.t.Error(err)
	}
}
