package counter

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"math"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// Process names the process that writes a counter, for people: Host, PID, Version and Started.
type Process = stored.Process

// Config sets which numbers a counter gives. Store and Name must be given.
type Config struct {
	// Store is where the counter lives. It is not closed with the counter.
	Store store.Store

	// Namespace and Name name the counter: each 1 to 64 of [a-z0-9._-]. An empty Namespace
	// means "default".
	Namespace, Name string

	// Existing refuses to begin a new counter: its record must be there, or an error wrapping
	// [ErrMustExist] is returned. Set it once the counter exists, so that an emptied or mistyped store
	// can't give a number twice.
	Existing bool

	// Start is the first number, 0 or more. Zero means 1. It never changes.
	Start int64

	// Increment is the distance between two numbers. Zero means 1. It never changes.
	Increment int64

	// Limit is the greatest number. Zero means the greatest of 63 bits, less Increment.
	Limit int64

	// MaxWait is how long a call waits for the store. Zero means a second, and on a lossy
	// store what it can lose in addition.
	MaxWait time.Duration

	// RequestTimeout bounds each request to the store, and each call to the guard. Zero means 5 s.
	RequestTimeout time.Duration

	// Guard knows, independently of the store, which numbers are in use. Nil means no guard.
	Guard Guard

	// Process is written into the record.
	Process Process

	// Clock is the source of time. Nil means [snowfence.SystemClock].
	Clock snowfence.Clock

	// Rand is the source of marks: unpredictable, and never the same twice. Nil means
	// crypto/rand.
	Rand io.Reader

	zone   string // of a daily sequence
	digits int
}

const requestTimeout = 5 * time.Second

// A Guard is an independent high-water mark of a counter. With it a counter that went
// backwards in its store is noticed: a stale replica was promoted, or a dump restored. It must
// be safe for concurrent use. Its methods return soon after ctx has ended.
type Guard interface {
	// Mark returns the greatest number that is known to be in use; a negative number if
	// none is.
	Mark(ctx context.Context) (int64, error)

	// Raise makes last the mark, if the mark is below first. Otherwise it fails, and the
	// numbers from first to last are used by no one: another process may have them. The mark
	// never goes back. When last is first - 1 the mark stays as it is, and the write shows that
	// it can be raised. A guard that keeps nothing returns nil.
	Raise(ctx context.Context, first, last int64) error

	// String describes the guard, for errors: "file /var/lib/ids/orders.mark".
	String() string
}

// Validate returns a *[ConfigError] for a field that is refused without asking a store. The Store may be nil.
func (c Config) Validate() error {
	_, err := c.complete()
	return err
}

// complete fills the defaults in, or returns a *[ConfigError].
func (c Config) complete() (Config, error) {
	c.Namespace = cmp.Or(c.Namespace, stored.DefaultNamespace)
	c.Start, c.Increment = cmp.Or(c.Start, 1), cmp.Or(c.Increment, 1)
	most := math.MaxInt64 - max(c.Increment, 1)
	if err := cmp.Or(
		stored.CheckNamespace(c.Namespace),
		stored.RefuseIf(stored.CheckNamespace(c.Name) != nil, "name", c.Name, "must be 1 to 64 of [a-z0-9._-]"),
		stored.RefuseIf(c.Start < 0, "start", c.Start, "must not be negative"),
		stored.RefuseIf(c.Increment < 1 || c.Increment > math.MaxInt32, "increment", c.Increment, fmt.Sprintf("must be from 1 to %d", math.MaxInt32)),
		stored.RefuseIf(c.Limit < 0 || c.Limit > most || c.Limit > 0 && c.Limit < c.Start, "limit", c.Limit, fmt.Sprintf("must be from the start, %d, to %d", c.Start, most)),
		stored.RefuseIf(c.MaxWait < 0, "max-wait", c.MaxWait, "must not be negative"),
		stored.RefuseIf(c.RequestTimeout < 0, "request-timeout", c.RequestTimeout, "must not be negative"),
		stored.CheckProcess(c.Process),
	); err != nil {
		return c, err
	}
	c.Limit = cmp.Or(c.Limit, most)
	c.RequestTimeout = cmp.Or(c.RequestTimeout, requestTimeout)
	c.Clock, c.Rand = cmp.Or(c.Clock, snowfence.SystemClock()), cmp.Or(c.Rand, rand.Reader)
	if c.Process.Started.IsZero() {
		c.Process.Started = c.Clock.Wall()
	}
	return c, nil
}
