package fence_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

// lingering is a store whose reads of the namespace's record, once it is slow, go on
// for a while after their context has ended.
type lingering struct {
	store.Store
	slow    atomic.Bool
	reading atomic.Int32
}

func (l *lingering) Get(ctx context.Context, key string) (store.Entry, error) {
	if l.slow.Load() && key == stored.NamespaceKey(stored.DefaultNamespace) {
		l.reading.Add(1)
		defer l.reading.Add(-1)
		<-ctx.Done()
		pass(5 * time.Second)
		return store.Entry{}, context.Cause(ctx)
	}
	return l.Store.Get(ctx, key)
}

// Whoever closes the store after the holder does so under nobody's hands.
func TestCloseWaitsForRequestsWhoseAnswersAreNotAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lingering{Store: memstore.New().Client()}
		h := open(t, l)
		next(t, h)
		l.slow.Store(true)
		for l.reading.Load() == 0 {
			pass(time.Second)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if n := l.reading.Load(); n != 0 {
			t.Errorf("%d requests are under way", n)
		}
	})
}

// A list that ends in an error may lack the very registers that would refuse the clock.
func TestClockIsNotAcceptedForWhatAListThatFailedDidNotShow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		other := open(t, memory.Client())
		faulty := faultstore.New(memory.Client(), nil, nil)
		clock := &jumping{Clock: snowfence.SystemClock()}
		h := open(t, faulty, func(c *fence.Config) { c.Clock = clock })
		next(t, h)
		next(t, other)
		faulty.Follow(faultstore.Only(faultstore.Always(faultstore.Fault{Before: true}), func(c faultstore.Call) bool { return c.Verb == faultstore.List }))
		clock.stepped.Store(int64(time.Hour))
		pass(5 * time.Minute)
		if s := h.Status(); s.Losses != 1 || s.Phase == "holding" {
			t.Errorf("the status is %+v", s)
		}
	})
}
