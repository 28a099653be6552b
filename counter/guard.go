package counter

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

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

// OpenStoreGuard returns a guard for a counter. The store must be another one than the counter's,
// and is not closed with it. The mark is kept by what is counted: by a namespace and a counter's name,
// or by a system, its database and its row. Guards of equal names share a mark. The names may be any texts.
//
// [ErrLossy] is returned for a store that can lose what it acknowledged: a mark that is lost
// refuses nothing. Otherwise the store's own error is returned.
func OpenStoreGuard(ctx context.Context, s store.Store, counted ...string) (*StoreGuard, error) {
	text := fmt.Sprintf("the guard of %s in another store", strings.Join(counted, "/"))
	traits, err := s.Traits(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: ask that store what it guarantees: %w", text, err)
	case traits.Loss > 0:
		return nil, fmt.Errorf("%w: %s: that store can lose what it acknowledged in the last %s, and a mark that is lost refuses nothing: durable=true in that store's URL declares that it loses nothing", ErrLossy, text, traits.Loss)
	}
	return &StoreGuard{s, guardKey(counted), text}, nil
}

// guardKey is the key of a mark. Names that a key can't hold as they are become a hash. Their allowed
// characters stand before it, for people. Only such a key has an empty part, so it equals no other one.
func guardKey(counted []string) string {
	const shown = 100
	plain := strings.Join(counted, "/")
	key := "guard/" + plain
	if store.ValidateKey(key) == nil && !slices.ContainsFunc(counted, func(name string) bool { return name == "" || strings.Contains(name, "/") }) {
		return key
	}
	readable := strings.Map(func(r rune) rune {
		if strings.ContainsRune(store.KeyAlphabet, r) {
			return r
		}
		return -1
	}, strings.ToLower(plain))
	hash := sha256.Sum256(fmt.Appendf(nil, "%q", counted)) // quoted, so that no two lists of names are equal
	return "guard/" + readable[:min(len(readable), shown)] + "//" + hex.EncodeToString(hash[:])
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

var (
	// errPassed means that another process reserved later, and raised the guard before.
	errPassed = errors.New("another process has raised it meanwhile")

	errUndecided = errors.New("it is not known whether the write took effect")
)

// raiseTries is how many calls a write of the mark may take until its outcome is known.
const raiseTries = 6

// Raise implements [Guard]. A write whose outcome stays unknown may still take effect. It raises the
// mark then, for numbers that no caller gets.
func (g *StoreGuard) Raise(ctx context.Context, first, last int64) error {
	for reply := drive.Ask(ctx, g.store, lease.Call{Verb: lease.Get, Key: g.key}); ; {
		mark, version, err := g.read(reply)
		switch {
		case err != nil:
			return err
		case mark >= first:
			return fmt.Errorf("%w to %d: numbers from %d to %d are a gap", errPassed, mark, first, last)
		}
		value := strconv.FormatInt(last, 10) + " " + rand.Text() // no two writes are equal
		refused := errUndecided
		tries := 0
		var outlook lease.Outlook
		outlook, reply = drive.Settle(lease.Write{Key: g.key, Guard: version, Value: []byte(value)},
			func(c lease.Call) lease.Reply { return drive.Ask(ctx, g.store, c) },
			func(o lease.Outlook, reply lease.Reply) error {
				if o == lease.Doubtful {
					refused = reply.Err
				}
				if tries++; tries >= raiseTries {
					return refused
				}
				return context.Cause(ctx)
			})
		switch outlook {
		case lease.Landed:
			return nil
		case lease.Missed:
			continue // another process raised it
		}
		return cmp.Or(context.Cause(ctx), refused)
	}
}

// QueryGuard is a guard by the greatest number that is in use elsewhere: max(id) of the user's
// own table. It keeps nothing, so it sees written numbers, and misses numbers that were only reserved.
// The column must hold whole numbers: the greatest text of 999 and 1000 is 999.
type QueryGuard struct {
	// Name is the name of the request, for errors: "max(id) of orders".
	Name string
	// Greatest returns the greatest number; a negative one if there is none.
	Greatest func(ctx context.Context) (int64, error)
}

// String implements [Guard].
func (g QueryGuard) String() string { return g.Name }

// Mark implements [Guard].
func (g QueryGuard) Mark(ctx context.Context) (int64, error) { return g.Greatest(ctx) }

// Raise implements [Guard]. It does nothing.
func (QueryGuard) Raise(context.Context, int64, int64) error { return nil }

// guarding is a guard as one process uses it for a counter; nil is none. The mark is read before a reservation, so
// every range that it covers was reserved before. It is raised before the numbers are used.
//
// Each number is used once, though the counter goes back at any time. The mark only grows. A
// range is used only if the mark was below its first number, and then became its last one. So the
// first number of each range that is used lies above the last one of every range before it.
//
// Processes may raise the mark in another order than they reserved in. Then a range that comes late
// is a gap: at most one of each other process for a range that is used.
//
// A range whose raise failed is a gap, too. Until a raise succeeds again nothing more is reserved. The
// mark is written as it is instead, as it is before the first reservation of a process.
type guarding struct {
	Guard
	counter string
	timeout time.Duration // bounds each call to the guard
	limit   int64         // the greatest number that the counter can give
	works   atomic.Bool   // the last raise took effect
}

// mark returns the mark, when the guard is known to take raises. A *[FullError] is returned for a mark
// above which there is no number.
func (g *guarding) mark(ctx context.Context) (mark int64, err error) {
	if g == nil {
		return math.MinInt64, nil
	}
	err = g.within(ctx, func(ctx context.Context) (err error) {
		mark, err = g.Mark(ctx)
		return err
	})
	switch {
	case err != nil:
		return 0, fmt.Errorf("counter %s: read its guard: %w", g.counter, err)
	case mark >= g.limit:
		return 0, fmt.Errorf("%d is in use already, according to %s: %w", mark, g, &FullError{Counter: g.counter, Limit: g.limit})
	}
	if !g.works.Load() {
		err = g.raise(ctx, mark+1, mark)
	}
	return mark, err
}

// within makes a call to the guard, within the timeout. A call without an answer would hold up every
// later reservation.
func (g *guarding) within(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, g.timeout, drive.ErrTimeout)
	defer cancel()
	err := call(ctx)
	if err != nil && errors.Is(context.Cause(ctx), drive.ErrTimeout) {
		err = fmt.Errorf("%s: %w, %s: %w", g, drive.ErrTimeout, g.timeout, err)
	}
	return err
}

// raise raises the mark from below first to last.
func (g *guarding) raise(ctx context.Context, first, last int64) error {
	if g == nil {
		return nil
	}
	err := g.within(ctx, func(ctx context.Context) error { return g.Raise(ctx, first, last) })
	if !errors.Is(err, errPassed) { // which means that other processes raise it
		g.works.Store(err == nil)
	}
	if err != nil {
		return fmt.Errorf("counter %s: raise its guard: %w", g.counter, err)
	}
	return nil
}

// Guarded returns a source that refuses ranges at or below a guard's mark: for the table of another
// system whose server was replaced by a stale copy. The source's numbers must increase in the order of
// time, as one server's do. Name is for errors. A refused number is a gap. A call to the guard may take
// 5 s. If the source has a method Remedy(mark int64) string, that is the remedy of the
// *[BackwardsError].
func Guarded(s Source, g Guard, name string) Source {
	return &guarded{s, guarding{Guard: g, counter: name, timeout: requestTimeout, limit: math.MaxInt64}}
}

type guarded struct {
	source Source
	guard  guarding
}

// Reserve implements [Source].
func (g *guarded) Reserve(ctx context.Context, need func() int64) (Range, error) {
	mark, err := g.guard.mark(ctx)
	if err != nil {
		return Range{}, err
	}
	got, err := g.source.Reserve(ctx, need)
	switch {
	case err != nil:
		return Range{}, err
	case got.First <= mark:
		back := &BackwardsError{Counter: g.guard.counter, Next: got.First, Mark: mark, By: g.guard.String()}
		if r, ok := g.source.(interface{ Remedy(mark int64) string }); ok {
			back.Remedy = r.Remedy(mark)
		}
		return Range{}, back
	}
	if err := g.guard.raise(ctx, got.First, got.Last()); err != nil {
		return Range{}, err
	}
	return got, nil
}
