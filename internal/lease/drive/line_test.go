package drive_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/lease/drive"
	"snowfence.example/snowfence/store"
)

// silent is a store that answers no read before its context ends. It notes why each context ended.
type silent struct {
	store.Store
	causes chan error
}

func (s silent) Get(ctx context.Context, _ string) (store.Entry, error) {
	<-ctx.Done()
	s.causes <- context.Cause(ctx)
	return store.Entry{}, ctx.Err()
}

func TestNewCallEndsTheCallBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := silent{causes: make(chan error, 2)}
		line := &drive.Line{Store: s, Clock: snowfence.SystemClock(), Answered: func(time.Duration, lease.Reply) {}}
		line.Trust()
		line.Call(lease.Call{ID: 1, Verb: lease.Get}, time.Hour)
		line.Call(lease.Call{ID: 2, Verb: lease.Get}, 2*time.Hour)
		if cause := <-s.causes; errors.Is(cause, drive.ErrTimeout) {
			t.Error("the first call goes on until its own time is over")
		}
		if reply, ok := (<-line.Answers()).(lease.Reply); !ok || reply.ID != 2 || !errors.Is(reply.Err, drive.ErrTimeout) {
			t.Errorf("the answer is %+v", reply)
		}
		line.Rest()
	})
}
