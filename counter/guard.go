package counter

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"strconv"

	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/lease/drive"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// StoreGuard keeps the mark of a counter in a register of another store: in a folder of this
// machine by package filestore, for example. Each reservation costs a swap there.
type StoreGuard struct {
	store store.Store
	key   string
	text  string
}

// NewStoreGuard returns a guard for a counter. The store must be another one than the counter's,
// and is not closed with it.
func NewStoreGuard(s store.Store, namespace, name string) *StoreGuard {
	return &StoreGuard{s, "guard/" + namespace + "/" + name, fmt.Sprintf("the guard of counter %s in another store", name)}
}

// String implements [Guard].
func (g *StoreGuard) String() string { return g.text }

// Mark implements [Guard].
func (g *StoreGuard) Mark(ctx context.Context) (int64, error) {
	mark, _, err := g.read(drive.Ask(ctx, g.store, lease.Call{Verb: lease.Get, Key: g.key}))
	return mark, err
}

func (g *StoreGuard) read(reply lease.Reply) (mark int64, version store.Version, err error) {
	switch reply.Outcome {
	case lease.Absent:
		return -1, "", nil // nothing is in use
	case lease.Found:
		var random string
		if _, err := fmt.Sscanf(string(reply.Entry.Value), "%d %s", &mark, &random); err != nil {
			return 0, "", fmt.Errorf("%w: a guard's mark is %q", stored.ErrRecord, reply.Entry.Value)
		}
		return mark, reply.Entry.Version, nil
	}
	return 0, "", reply.Err
}

// Raise implements [Guard].
func (g *StoreGuard) Raise(ctx context.Context, n int64) error {
	for reply := drive.Ask(ctx, g.store, lease.Call{Verb: lease.Get, Key: g.key}); ; {
		mark, version, err := g.read(reply)
		if err != nil || mark >= n {
			return err
		}
		value := strconv.FormatInt(n, 10) + " " + rand.Text() // no two writes are equal
		var outlook lease.Outlook
		outlook, reply = drive.Settle(lease.Write{Key: g.key, Guard: version, Value: []byte(value)},
			func(c lease.Call) lease.Reply { return drive.Ask(ctx, g.store, c) },
			func(lease.Outlook, lease.Reply) error { return context.Cause(ctx) })
		switch outlook {
		case lease.Landed:
			return nil
		case lease.Missed:
			continue // another process raised it
		}
		return fmt.Errorf("raise the guard: %w", cmp.Or(reply.Err, context.Cause(ctx)))
	}
}

// QueryGuard is a guard by the greatest number that is in use elsewhere: max(id) of the user's
// own table. It keeps nothing, so it sees what was written there, and not what was only reserved.
type QueryGuard struct {
	// Name says what is asked, for errors: "max(id) of orders".
	Name string
	// Greatest returns the greatest number; a negative one if there is none.
	Greatest func(ctx context.Context) (int64, error)
}

// String implements [Guard].
func (g QueryGuard) String() string { return g.Name }

// Mark implements [Guard].
func (g QueryGuard) Mark(ctx context.Context) (int64, error) { return g.Greatest(ctx) }

// Raise implements [Guard]. It does nothing.
func (QueryGuard) Raise(context.Context, int64) error { return nil }

// Guarded returns a source that refuses ranges at or below a guard's mark: for the table of another
// system whose server was replaced by a stale copy. The source's numbers must increase in the order
// of time, as those of one server do. Name is for errors. What it refuses is a gap.
// If the source has a method Remedy(mark int64) string, that is the remedy of the *[BackwardsError].
func Guarded(s Source, g Guard, name string) Source { return guarded{s, g, name} }

type guarded struct {
	source Source
	guard  Guard
	name   string
}

// Reserve implements [Source]. The mark is read before: every range that it covers was reserved
// before this one.
func (g guarded) Reserve(ctx context.Context, need func() int64) (Range, error) {
	mark, err := g.guard.Mark(ctx)
	if err != nil {
		return Range{}, fmt.Errorf("counter %s: read its guard: %w", g.name, err)
	}
	got, err := g.source.Reserve(ctx, need)
	switch {
	case err != nil:
		return Range{}, err
	case got.First <= mark:
		back := &BackwardsError{Counter: g.name, Next: got.First, Mark: mark, By: g.guard.String()}
		if r, ok := g.source.(interface{ Remedy(mark int64) string }); ok {
			back.Remedy = r.Remedy(mark)
		}
		return Range{}, back
	}
	return got, g.guard.Raise(ctx, got.Last())
}
