package drive

import (
	"context"
	"errors"

	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/store"
)

// ErrTimeout is the unknown outcome of a request that was not answered in time.
var ErrTimeout = errors.New("the store did not answer in time")

// errNoClock is the answer of a store that was asked for its clock and has none.
var errNoClock = errors.New("the store has no clock")

// ID returns the id of a request to the store; 0 for any other.
func ID(request lease.Request) uint64 {
	switch r := request.(type) {
	case lease.Get:
		return r.ID
	case lease.Swap:
		return r.ID
	case lease.List:
		return r.ID
	case lease.Ask:
		return r.ID
	}
	return 0
}

// Ask makes a request to the store, and returns its answer as the lease reads it. It
// is safe for concurrent use.
func Ask(ctx context.Context, s store.Store, request lease.Request) lease.Reply {
	reply := ask(ctx, s, request)
	reply.ID = ID(request)
	return reply
}

func ask(ctx context.Context, s store.Store, request lease.Request) lease.Reply {
	switch r := request.(type) {
	case lease.Get:
		entry, err := s.Get(ctx, r.Key)
		switch {
		case err == nil:
			return lease.Reply{Outcome: lease.Found, Entry: entry}
		case errors.Is(err, store.ErrNotFound):
			return lease.Reply{Outcome: lease.Absent}
		}
		return lease.Reply{Err: err}
	case lease.Swap:
		version, err := s.Swap(ctx, r.Key, r.Prev, r.Value)
		switch {
		case err == nil:
			return lease.Reply{Outcome: lease.Swapped, Version: version}
		case errors.Is(err, store.ErrConflict):
			return lease.Reply{Outcome: lease.Conflict}
		}
		return lease.Reply{Err: err}
	case lease.List:
		reply := lease.Reply{Outcome: lease.Listed}
		for entry, err := range s.List(ctx, r.Prefix) {
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
