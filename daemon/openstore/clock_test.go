package openstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
)

// TestClockThatStepsBackRepeatsNoIDOnAnyEngine sets the clock of a holder back, by
// less and by more than the ten minutes that a clock may be off, and right again.
// By less the holder takes another worker id, on every engine. By more it depends
// on whether the engine has a clock to judge this one by.
func TestClockThatStepsBackRepeatsNoIDOnAnyEngine(t *testing.T) {
	for _, name := range append(testkit.EngineNames(), "memory") {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they share nothing, and mostly wait
			url := "mem://"
			if name != "memory" {
				url = shared(t, name).URL("", sharedLoss)
			}
			s := at(t, url)
			_, hasClock := store.ClockOf(s)
			for _, by := range []time.Duration{time.Minute, time.Hour} {
				t.Run(by.String(), func(t *testing.T) {
					i := newIssuer(t, s, strings.ToLower(by.String()))
					i.goesOn(noWorker)
					if by > 10*time.Minute && hasClock {
						i.stopsWhile(-by)
					} else {
						i.clock.set(-by)
						i.goesOn(i.worker)
					}
					i.clock.set(0)
					i.goesOn(noWorker)
				})
			}
		})
	}
}

// setClock is the system's clock, whose wall time can be set.
type setClock struct {
	snowfence.Clock
	offset atomic.Int64
}

func (c *setClock) Wall() time.Time { return c.Clock.Wall().Add(time.Duration(c.offset.Load())) }

// set makes the wall time differ from the system's by that much.
func (c *setClock) set(offset time.Duration) { c.offset.Store(int64(offset)) }

// issuer is a holder from a pool, and all ids that it issued.
type issuer struct {
	t      *testing.T
	store  store.Store
	clock  *setClock
	holder *fence.Holder
	ids    map[snowfence.ID]bool
	worker int64 // that of the last id
}

func newIssuer(t *testing.T, s store.Store, namespace string) *issuer {
	t.Helper()
	i := &issuer{t: t, store: s, clock: &setClock{Clock: snowfence.SystemClock()}, ids: map[snowfence.ID]bool{}}
	var err error
	if i.holder, err = fence.Open(t.Context(), fence.Config{Store: s, Namespace: namespace, Clock: i.clock}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.holder.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return i
}

// issue asks for some ids, each of which must be new.
func (i *issuer) issue(ctx context.Context) error {
	var batch [1000]snowfence.ID
	if err := i.holder.Fill(ctx, batch[:]); err != nil {
		return err
	}
	for _, id := range batch {
		if i.ids[id] {
			i.t.Fatalf("id %d is issued twice", id)
		}
		i.ids[id] = true
	}
	parts, err := snowfence.DefaultLayout().Decompose(batch[0])
	i.worker = parts.Worker
	return err
}

// noWorker stands for a missing worker id.
const noWorker = -1

// goesOn waits until ids are issued with another worker id than the one given. A holder issues the
// reserved ids of its term before it looks at its clock.
func (i *issuer) goesOn(than int64) {
	i.t.Helper()
	testkit.Eventually(i.t, func(ctx context.Context) error {
		if err := i.issue(ctx); err != nil {
			return err
		}
		if i.worker == than {
			return fmt.Errorf("worker %d issues on", than)
		}
		return nil
	})
}

// stopsWhile sees that ids stop while the clock is off, with an error that shows
// it, and that nothing is written meanwhile.
func (i *issuer) stopsWhile(offset time.Duration) {
	i.t.Helper()
	before := i.versions()
	i.clock.set(offset)
	refused := 0
	testkit.Eventually(i.t, func(ctx context.Context) error {
		err := i.issue(ctx)
		var off *fence.ClockError
		switch {
		case errors.As(err, &off) && off.Offset < offset/2 && strings.Contains(err.Error(), "behind the store's clock"):
			refused++
		case refused > 0:
			i.t.Fatalf("after it was refused: %v", err)
		}
		if refused < 50 { // a second in all: the holder looks again meanwhile
			return errors.Join(fmt.Errorf("refused %d times", refused), err)
		}
		return nil
	})
	if after := i.versions(); !maps.Equal(before, after) {
		i.t.Errorf("the registers were %v, and are %v", before, after)
	}
}

// versions returns the versions of all registers.
func (i *issuer) versions() map[string]store.Version {
	i.t.Helper()
	versions := map[string]store.Version{}
	for e, err := range i.store.List(i.t.Context(), "") {
		if err != nil {
			i.t.Fatal(err)
		}
		versions[e.Key] = e.Version
	}
	return versions
}
