package store

import (
	"context"
	"errors"
	"iter"
	"time"

	"snowfence.example/snowfence"
)

// A Version names one state of one register. It is opaque: it can be compared
// for equality, kept and handed back to [Store.Swap], and nothing else. It
// orders nothing.
//
// The zero Version, "", names the state before a register's first swap: the
// key does not exist. No existing register ever has it.
type Version string

// An Entry is one register as it was read.
type Entry struct {
	Key     string  // 1 to MaxKey bytes, see ValidateKey
	Value   []byte  // at most MaxValue bytes; the reader's own copy
	Version Version // never zero
}

// A Store is a set of registers with compare-and-swap. Its methods are safe
// for concurrent use.
//
// Every method that takes a context must return soon after the context ends,
// with an error that wraps the context's. A context that has ended before the
// call is refused in the same way, and a Swap under it must not take effect.
type Store interface {
	// Get returns the register at key.
	//
	// It may be stale: it may return an entry that a swap has replaced since, or
	// ErrNotFound for a key that was created since. Staleness must pass: a
	// client that reads again comes to see every acknowledged swap.
	//
	// It must return only written entries, and only ones that failures beyond the declared Traits can't
	// take away: an entry that is read back after an unknown outcome is as good as an acknowledgement.
	//
	// The entry's value is the caller's own: the store must not keep it.
	//
	// It returns ErrNotFound if the key does not exist, a *KeyError if the key
	// is not a valid one, an error that is ErrDamaged if there is something at
	// the key, or was, that can't be read, and ErrClosed after Close. An unreadable entry is never
	// taken for absent.
	Get(ctx context.Context, key string) (Entry, error)

	// Swap sets the register at key to value if its version is still prev, and
	// returns its new version. With the zero prev the key must not exist, and
	// Swap creates it.
	//
	// Swap must compare the version and nothing else: neither the value, nor a
	// counter inside it. It must not keep value after it has returned, nor
	// change it.
	//
	// It returns ErrConflict if the version is another one: this swap did not
	// take effect and never will. It returns a *KeyError or a *ValueError,
	// before anything is sent, if the key or the value is not a valid one.
	// Every other error, a context's among them, means that the outcome is
	// unknown: the swap may have taken effect, may not have, or may still.
	//
	// An engine must not repeat a swap by itself. A repeated swap meets its own
	// first effect and reports a conflict that is none. Nor may anything on the way
	// deliver an acknowledged swap again, unless the engine's server draws the
	// version: see the package's comment.
	Swap(ctx context.Context, key string, prev Version, value []byte) (Version, error)

	// List yields the registers whose keys begin with prefix, byte for byte, in
	// any order. The empty prefix is the prefix of every key.
	//
	// It may be stale in the manner of Get, each entry on its own, and even
	// show an entry that a failure can still take away: it is for display and
	// for hints. A register that existed before the call, and that was not
	// swapped during it, is yielded exactly once.
	//
	// An error is yielded with a zero Entry and ends the sequence: one that is
	// ErrDamaged at the latest where a register can't be read. List must
	// not gather all entries before it yields the first: a million registers
	// must fit. The sequence may be ranged over more than once; each time
	// lists again. The range's body may call the store.
	List(ctx context.Context, prefix string) iter.Seq2[Entry, error]

	// Traits returns the store's possible loss and its reach. They do not
	// change while the store is open.
	Traits(ctx context.Context) (Traits, error)

	// Close ends the use of this client. Calls after it, and calls that still
	// wait, return ErrClosed. Closing twice is fine. The registers stay.
	Close() error
}

// Clock is implemented by stores whose engine has a clock of its own. Use
// [ClockOf] to find it.
type Clock interface {
	// Now returns the engine's wall clock. It is a reference to judge one's own
	// clock by, roughly; no guarantee rests on it.
	Now(ctx context.Context) (time.Time, error)
}

// ClockOf returns the clock of s's engine, and whether it has one. A decorator
// shows the store that it decorates by a method Unwrap() Store, and ClockOf
// looks through it.
func ClockOf(s Store) (clock Clock, ok bool) {
	for s != nil && !ok {
		clock, ok = s.(Clock)
		s = inside(s)
	}
	return clock, ok
}

// Named is implemented by stores that know which store they are. Use [NameOf].
type Named interface {
	// Name returns where the store is: its engine, its servers or its folder, its
	// database and its prefix. Clients that can reach different registers have
	// different names. It is free of secrets, and it is known without asking the engine.
	// Empty means that it is not known.
	Name() string
}

// NameOf returns the name of s, or "" if it has none. It looks through decorators,
// as [ClockOf] does.
func NameOf(s Store) (name string) {
	for s != nil && name == "" {
		if named, ok := s.(Named); ok {
			name = named.Name()
		}
		s = inside(s)
	}
	return name
}

// inside returns the store that s decorates, or nil.
func inside(s Store) Store {
	if decorator, ok := s.(interface{ Unwrap() Store }); ok {
		return decorator.Unwrap()
	}
	return nil
}

// Errors that every engine returns, bare or wrapped.
var (
	// ErrNotFound is returned by Get when the key does not exist.
	ErrNotFound = errors.New("store: no such key")

	// ErrConflict is returned by Swap when the register's version is not the
	// one that the swap names. The swap did not and never will take effect.
	ErrConflict = errors.New("store: conflict: the register is at another version")

	// ErrClosed is returned by every method after Close. A swap that was under
	// way when the store was closed has an unknown outcome, as with any error
	// but ErrConflict.
	ErrClosed = errors.New("store: closed")

	// ErrDamaged is wrapped by errors about stored entries that can't be read: torn, altered, removed,
	// of another program or of a newer version of this one. Trying again does not help; an operator
	// must mend it. A swap that returns it has an unknown outcome, as with any error but ErrConflict.
	// An engine that can't distinguish damage from an outage does not return it.
	ErrDamaged = errors.New("store: the stored entry can't be read")

	// ErrNoStore is wrapped by the error of an engine's Open when its config demands an existing store,
	// and it is missing. Nothing was made. Engines that have nothing to make before the first swap do
	// not return it.
	ErrNoStore = snowfence.NewError(snowfence.ClassFinal, "store: nothing is there")
)
