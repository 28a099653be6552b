package counter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
)

// DailyConfig is the form of a daily sequence.
type DailyConfig struct {
	// Config sets which counter it is. Increment and Limit must be zero: the digits set how
	// far it goes. A daily sequence has no guard.
	Config

	// Prefix stands before the date: at most 64 bytes of visible ASCII without a quote or a
	// backslash.
	Prefix string

	// Zone is the time zone of the dates. Nil means UTC. It never changes.
	Zone *time.Location

	// Digits is the width of the number, 1 to 18. Zero means 6. It never changes.
	Digits int

	// Step is how many numbers are reserved at a time. Zero means 1 on a durable store: no
	// gaps but after failures. On a lossy store it means 100, because there each reservation
	// takes as long as the store can lose writes for.
	Step int64
}

// Validate returns a *[ConfigError] for a field that [OpenDaily] refuses without asking the store. The Store
// may be nil.
func (c DailyConfig) Validate() error {
	_, err := c.complete()
	return err
}

// complete fills the defaults in, or returns a *[ConfigError].
func (c DailyConfig) complete() (DailyConfig, error) {
	c.Digits, c.Zone = cmp.Or(c.Digits, 6), cmp.Or(c.Zone, time.UTC)
	strange := func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }
	end := int64(math.Pow10(max(1, min(c.Digits, 18)))) - 1
	if err := cmp.Or(
		stored.RefuseIf(c.Digits < 1 || c.Digits > 18, "digits", c.Digits, "must be from 1 to 18"),
		stored.RefuseIf(c.Increment != 0 || c.Limit != 0, "increment and limit", fmt.Sprint(c.Increment, " and ", c.Limit), "must be 0: a daily sequence counts by 1 to the end of its digits"),
		stored.RefuseIf(c.Guard != nil, "guard", c.Guard, "must be nil: a daily sequence has none"),
		stored.RefuseIf(c.Step < 0, "step", c.Step, "must not be negative"),
		stored.RefuseIf(len(c.Prefix) > 64 || strings.ContainsFunc(c.Prefix, strange), "prefix", c.Prefix, `must be at most 64 bytes of visible ASCII without " and \`),
		stored.RefuseIf(c.Start > end, "start", c.Start, fmt.Sprintf("must be at most %d, to fit the digits", end)),
	); err != nil {
		return c, err
	}
	c.Limit, c.zone, c.digits = end, c.Zone.String(), c.Digits
	var err error
	c.Config, err = c.Config.complete()
	return c, err
}

// Daily gives texts such as INV20261122000001: a prefix, the date in a time zone, and a number
// that begins again each day. Its methods are safe for concurrent use.
//
// Each text is given once, whatever the clock shows: each date has its own count in the store. A
// wrong clock gives a wrong date. The store holds the last 10 dates that were used. An earlier
// one is refused, and is never begun again.
type Daily struct {
	config   DailyConfig
	register *register

	mu     sync.Mutex // guards the fields below
	queue  *queue     // of one date
	closed bool
	ending sync.WaitGroup // queues of other dates

	life context.Context //nolint:containedctx // of all that ends a queue; ended by Close
	cut  context.CancelFunc
}

// OpenDaily opens a daily sequence in a store.
//
// A *[ConfigError] is returned for a setting that can't be used, a *[MismatchError] for another one
// than the store has, otherwise the store's own error.
func OpenDaily(ctx context.Context, c DailyConfig) (*Daily, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	r, err := open(ctx, c.Config, stored.Daily)
	if err != nil {
		return nil, err
	}
	if c.Config = r.Config; c.Step == 0 {
		c.Step = 1
		if r.loss > 0 {
			c.Step = 100
		}
	}
	d := &Daily{config: c, register: r}
	d.life, d.cut = context.WithCancel(context.Background()) //nolint:gosec // Close calls it
	return d, nil
}

// Next returns the next text of today, by this machine's clock.
//
// A *[FullError] is returned when the digits are used up, a *[DateError] for a date that is too
// old, and otherwise the errors of [Segments.Next].
func (d *Daily) Next(ctx context.Context) (string, error) {
	texts, err := d.Fill(ctx, 1)
	if err != nil {
		return "", err
	}
	return texts[0], nil
}

// Fill returns n texts of one date, in increasing order. When it fails, none of them may be
// used.
func (d *Daily) Fill(ctx context.Context, n int) ([]string, error) {
	numbers, begun := make([]snowfence.ID, n), d.config.Clock.Monotonic()
	for {
		q, err := d.begin()
		if err != nil {
			return nil, err
		}
		if err = q.fill(ctx, numbers); err == nil {
			texts := make([]string, n)
			for i, number := range numbers {
				texts[i] = fmt.Sprintf("%s%s%0*d", d.config.Prefix, q.lane.name, d.config.Digits, number)
			}
			return texts, nil
		}
		if !errors.Is(err, ErrClosed) { // otherwise the date has changed meanwhile
			return nil, err
		}
		// It changed before the call could queue, or the call has waited until the date's end.
		if waited := d.config.Clock.Monotonic() - begun; waited >= d.config.MaxWait {
			return nil, &UnavailableError{Counter: d.config.Name, For: waited, Reason: err}
		}
	}
}

// today is the date by this machine's clock.
func (d *Daily) today() string {
	return d.config.Clock.Wall().In(d.config.Zone).Format(stored.DateForm)
}

// begin returns the queue of today. That of another date ends, and gives its rest back. The clock is
// read with the lock, so at midnight no call that read it before another one brings the old date back.
func (d *Daily) begin() (*queue, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	today := d.today()
	switch {
	case d.closed:
		return nil, ErrClosed
	case d.queue != nil && d.queue.lane.name == today:
		return d.queue, nil
	case d.queue != nil:
		d.end()
	}
	var ahead *stock
	if n := d.config.Step; n > 1 { // on a lossy store callers need not wait for the next step
		ahead = newStock(pace{least: n, most: n, now: n, depth: 1, deepest: 1})
	}
	d.queue = newQueue(&lane{d.register, today}, d.config.Config, ahead)
	return d.queue, nil
}

// end ends the present queue, beside the callers. Waiting calls may still get a number of its date,
// for as long as each may wait.
func (d *Daily) end() {
	q := d.queue
	d.queue = nil
	d.ending.Go(func() {
		rest := q.close(d.life, d.config.MaxWait)
		ctx, cancel := context.WithTimeout(d.life, closeTakes)
		defer cancel()
		_ = q.lane.giveBack(ctx, rest) // the rest is a gap
	})
}

// Close ends the sequence. It gives the numbers back that no caller got, if nothing was
// reserved after them.
func (d *Daily) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeTakes)
	defer cancel()
	defer context.AfterFunc(ctx, d.cut)()
	d.mu.Lock()
	d.closed = true
	if d.queue != nil {
		d.end()
	}
	d.mu.Unlock()
	d.ending.Wait()
	return nil
}
