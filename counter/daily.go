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

// DailyConfig says what a daily sequence looks like.
type DailyConfig struct {
	// Config says which counter it is. Increment and Limit must be zero: the digits say how
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

// Validate returns a *[ConfigError] for what [OpenDaily] refuses without asking the store. The Store
// may be nil.
func (c DailyConfig) Validate() error {
	_, err := c.complete()
	return err
}

// complete fills the defaults in, or returns a *[ConfigError].
func (c DailyConfig) complete() (DailyConfig, error) {
	c.Digits, c.Zone = cmp.Or(c.Digits, 6), cmp.Or(c.Zone, time.UTC)
	switch {
	case c.Digits < 1 || c.Digits > 18:
		return c, refuse("digits", c.Digits, "must be from 1 to 18")
	case c.Increment != 0 || c.Limit != 0:
		return c, refuse("increment and limit", fmt.Sprint(c.Increment, " and ", c.Limit), "must be 0: a daily sequence counts by 1 to the end of its digits")
	case c.Guard != nil:
		return c, refuse("guard", c.Guard, "must be nil: a daily sequence has none")
	case c.Step < 0:
		return c, refuse("step", c.Step, "must not be negative")
	case len(c.Prefix) > 64 || strings.ContainsFunc(c.Prefix, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }):
		return c, refuse("prefix", c.Prefix, `must be at most 64 bytes of visible ASCII without " and \`)
	}
	c.Limit = int64(math.Pow10(c.Digits)) - 1
	if c.Start > c.Limit {
		return c, refuse("start", c.Start, fmt.Sprintf("must be at most %d, to fit the digits", c.Limit))
	}
	c.zone, c.digits = c.Zone.String(), c.Digits
	var err error
	c.Config, err = c.Config.complete()
	return c, err
}

// Daily gives texts such as INV20261122000001: a prefix, the date in a time zone, and a number
// that begins again each day. Its methods are safe for concurrent use.
//
// No text is given twice, whatever the clock shows: each date has its own count in the store. A
// wrong clock gives a wrong date. The store holds the last 10 dates that were used. An earlier
// one is refused, and is never begun again.
type Daily struct {
	config   DailyConfig
	register *register

	mu     sync.Mutex // guards the fields below
	chain  *chain     // of one date
	closed bool
	ending sync.WaitGroup // chains of other dates

	life context.Context //nolint:containedctx // of all that ends a chain; ended by Close
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
		ch, err := d.begin()
		if err != nil {
			return nil, err
		}
		if err = ch.fill(ctx, numbers); err == nil {
			texts := make([]string, n)
			for i, number := range numbers {
				texts[i] = fmt.Sprintf("%s%s%0*d", d.config.Prefix, ch.lane, d.config.Digits, number)
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

// begin returns the chain of today. That of another date ends, and gives its rest back. The clock is
// read with the lock, so at midnight no call that read it before another one brings the old date back.
func (d *Daily) begin() (*chain, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	today := d.today()
	switch {
	case d.closed:
		return nil, ErrClosed
	case d.chain != nil && d.chain.lane == today:
		return d.chain, nil
	case d.chain != nil:
		d.end()
	}
	d.chain = newChain(lane{d.register, today}, d.config.Config, d.config.Step == 1, steps(d.config.Step))
	return d.chain, nil
}

// end ends the present chain, beside the callers. Those that wait may still get a number of its
// date, for as long as each may wait.
func (d *Daily) end() {
	ch := d.chain
	d.chain = nil
	d.ending.Go(func() {
		rest := ch.close(d.life, d.config.MaxWait)
		ctx, cancel := context.WithTimeout(d.life, closeTakes)
		defer cancel()
		if d.config.Step > 1 {
			_ = d.register.giveBack(ctx, ch.lane, rest) // what stays is a gap
		}
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
	if d.chain != nil {
		d.end()
	}
	d.mu.Unlock()
	d.ending.Wait()
	return nil
}

// steps is the demand of a daily sequence: ranges of one length. The next one is reserved when
// one begins, so that on a lossy store callers need not wait for it.
type steps int64

func (s steps) step() int64                      { return int64(s) }
func (s steps) ahead() int                       { return 1 }
func (s steps) began(time.Duration, Range, bool) {}
func (s steps) took(time.Duration)               {}
