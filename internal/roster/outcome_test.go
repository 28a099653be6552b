package roster_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
)

// echoing is a store behind a proxy that sends each swap twice, and answers with the second one's
// outcome.
type echoing struct{ store.Store }

func (e echoing) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	if _, err := e.Store.Swap(ctx, key, prev, value); err != nil {
		return "", err
	}
	return e.Store.Swap(ctx, key, prev, value)
}

func TestConflictWithOnesOwnWriteIsNone(t *testing.T) {
	w, _ := heldWorld(t)
	w.store = echoing{w.memory.Client()}
	r := w.roster()
	after, err := release(t.Context(), r, w.read(r, 5))
	if err != nil {
		t.Fatal(err)
	}
	if stored := w.read(r, 5).Register; stored.Holder != "" || stored.Write != after.Register.Write {
		t.Errorf("stored %+v, returned %+v", stored, after.Register)
	}
}

// A write that took effect, perhaps, and was then overwritten must not be reported as
// one that changed nothing.
func TestConflictAfterAnUnknownOutcomeSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r, faulty := faultyWorld(t)
		seen := w.read(r, 5)
		key := stored.RegisterKey(r.Name(), r.Layout(), 5)
		faulty.Follow(func(c faultstore.Call) faultstore.Fault {
			return faultstore.Fault{
				LostReply: c == faultstore.Call{Verb: faultstore.Swap, Key: key, N: 1},
				Before:    c == faultstore.Call{Verb: faultstore.Get, Key: key, N: 2}, // the first was seen's
			}
		})
		overwritten := make(chan struct{})
		go func() {
			defer close(overwritten)
			pass(100 * time.Millisecond) // between the two tries
			if got := w.read(r, 5).Register; got.Holder != "" {
				t.Error("it was overwritten before it took effect")
			}
			w.put(r, 5, w.register(r, func(x *stored.Register) { x.Term++ }))
		}()
		_, err := release(t.Context(), r, seen)
		<-overwritten
		var conflict *roster.ConflictError
		if !errors.As(err, &conflict) || !errors.Is(conflict.Unsure, faultstore.ErrInjected) || conflict.Now.Register.Term != 4 {
			t.Errorf("it returned %v", err)
		}
	})
}
