package drive

import (
	"context"
	"errors"

	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/store"
)

// ErrTimeout is the unknown outcome of a request that was not answered in time.
var ErrTimeout = errors.New("the store did not answer in time")

// errNoClock is the answer of a store without a clock, asked for its clock.
var errNoClock = errors.New("the store has no clock")

// Ask makes a call to the store, and returns its answer as the lease reads it. It is safe
// for concurrent use.
func Ask(ctx context.Context, s store.Store, call lease.Call) lease.Reply {
	reply := ask(ctx, s, call)
	reply.ID = call.ID
	return reply
}

func ask(ctx context.Context, s store.Store, call lease.Call) lease.Reply {
	switch call.Verb {
	case lease.Get:
		entry, err := s.Get(ctx, call.Key)
		switch {
		case err == nil:
			return lease.Reply{Outcome: lease.Found, Entry: entry}
		case errors.Is(err, store.ErrNotFound):
			return lease.Reply{Outcome: lease.Absent}
		}
		return lease.Reply{Err: err}
	case lease.Swap:
		version, err := s.Swap(ctx, call.Key, call.Prev, call.Value)
		switch {
		case err == nil:
			return lease.Reply{Outcome: lease.Swapped, Version: version}
		case errors.Is(err, store.ErrConflict):
			return lease.Reply{Outcome: lease.Conflict}
		}
		return lease.Reply{Err: err}
	case lease.List:
		reply := lease.Reply{Outcome: lease.Listed}
		for entry, err := range s.List(ctx, call.Key) {
			if err != nil {
				return lease.Reply{Err: err, Entries: reply.Entries}
			}
			reply.Entries = append(reply.Entries, entry)
		}
		return reply
	case lease.Ask:
		clock, ok := store.ClockOf(s)
		if !ok {
			return lease.Reply{Err: errNoClock}
		}
		now, err := clock.Now(ctx)
		if err != nil {
			return lease.Reply{Err: err}
		}
		return lease.Reply{Outcome: lease.Told, Time: now}
	}
	return lease.Reply{Err: errors.New("no request to the store")}
}
