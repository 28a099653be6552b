package counter

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
)

// SegmentsConfig sets how segments are reserved.
type SegmentsConfig struct {
	// Config sets which counter it is. [NewSegments] needs its Name, MaxWait and Clock only.
	Config

	// Step is the least length of a segment. Zero means 1,000.
	Step int64

	// MostStep is the greatest length of a segment. Zero means 1,000 times Step.
	MostStep int64

	// Target is how long a segment should last. The step follows the demand, within its
	// bounds. Where the store takes longer than a quarter of it, a segment lasts for four
	// such times. Zero means 10 s.
	Target time.Duration
}

// Validate returns a *[ConfigError] for a field that [OpenSegments] refuses without asking the store. The
// Store may be nil.
func (c SegmentsConfig) Validate() error {
	if err := c.Config.Validate(); err != nil {
		return err
	}
	_, err := c.pace()
	return err
}

// pace returns how segments are reserved, or a *[ConfigError].
func (c SegmentsConfig) pace() (pace, error) {
	c.Step = cmp.Or(c.Step, 1000)
	c.MostStep = cmp.Or(c.MostStep, max(c.Step, 1000*min(c.Step, 1<<40)))
	c.Target = cmp.Or(c.Target, 10*time.Second)
	return pace{least: c.Step, most: c.MostStep, target: c.Target, now: c.Step, depth: 1, deepest: mostAhead}, cmp.Or(
		stored.RefuseIf(c.Step < 1, "step", c.Step, "must be at least 1"),
		stored.RefuseIf(c.MostStep < c.Step, "most-step", c.MostStep, fmt.Sprintf("must be at least the step, %d", c.Step)),
		stored.RefuseIf(c.Target < 0, "target", c.Target, "must not be negative"),
	)
}

// mostAhead is how many segments are kept ready at most.
const mostAhead = 8

// Segments gives numbers from segments: ranges that are reserved in bulk, ahead of the demand.
// So a number costs neither a request to the store nor a lock. Its methods are safe for concurrent
// use.
//
// No number is given twice. The numbers of one process increase, if those of its source do. Those
// of several processes are mixed, segment by segment. A crash leaves a gap: the rest of the
// segments that were reserved.
type Segments struct {
	queue *queue
	stock *stock
}

// OpenSegments opens a counter of segments in a store, and reserves the first one. On a lossy
// store that takes as long as the store can lose writes for. A counter that has reached its limit
// opens, too: its calls fail.
//
// A *[ConfigError], *[MismatchError] or *[BackwardsError] is returned, or the store's own error. A
// *[UnavailableError] is returned when a segment is missing after 10 s plus the store's loss, or after
// max-wait if that is longer.
func OpenSegments(ctx context.Context, c SegmentsConfig) (*Segments, error) {
	r, err := open(ctx, c.Config, stored.Segment)
	if err != nil {
		return nil, err
	}
	c.Config = r.Config
	return NewSegments(ctx, &lane{r, ""}, c)
}

// NewSegments returns segments of a source: another system's table, for example. It reserves
// the first one, and fails as [OpenSegments] does.
func NewSegments(ctx context.Context, source Source, c SegmentsConfig) (*Segments, error) {
	p, err := c.pace()
	if err != nil {
		return nil, err
	}
	ahead := newStock(p)
	s := &Segments{newQueue(source, c.Config, ahead), ahead}
	if err := s.queue.prime(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Next returns the next number.
//
// A *[UnavailableError] is returned when the store has given no segment within max-wait, a
// *[FullError] when the counter has reached its limit, [ErrClosed] after Close, and ctx's error
// when that ended the wait.
func (s *Segments) Next(ctx context.Context) (snowfence.ID, error) {
	r := s.stock.current.Load()
	if i := r.next.Add(1) - 1; i < r.Count {
		return snowfence.ID(r.First + i*r.Increment), nil
	}
	var one [1]snowfence.ID
	err := s.queue.fill(ctx, one[:])
	return one[0], err
}

// Fill fills ids, in increasing order. It waits and fails as [Segments.Next] does. When it
// fails, no id of the batch may be used.
func (s *Segments) Fill(ctx context.Context, ids []snowfence.ID) error { return s.queue.fill(ctx, ids) }

// Step is the least length of a segment.
func (s *Segments) Step() int64 { return s.stock.pace.least }

// Reserve reserves n numbers, or fewer, for the caller alone, who counts in them by itself. None of them is given by Next
// or Fill, and none of them is ever given back. It asks the store each time, and waits and fails as [Segments.Next]
// does.
func (s *Segments) Reserve(ctx context.Context, n int64) (Range, error) {
	q := s.queue
	q.mu.Lock()
	closed := q.closed
	q.mu.Unlock()
	if closed {
		return Range{}, ErrClosed
	}
	begun := q.clock.Monotonic()
	limited, cancel := context.WithTimeout(ctx, q.wait)
	defer cancel()
	got, err := q.source.Reserve(limited, func() int64 { return n })
	switch {
	case err == nil:
		return got, nil
	case ctx.Err() != nil:
		return Range{}, context.Cause(ctx)
	case final(err):
		return Range{}, err
	}
	return Range{}, &UnavailableError{Counter: q.name, For: q.clock.Monotonic() - begun, Reason: err}
}

// Close ends the counter. It gives the numbers back that no caller got, if nothing was
// reserved after them. Otherwise the counter skips them, and there is no error. It skips them too when the store
// fails. The error wraps [ErrUnavailable] then.
func (s *Segments) Close(ctx context.Context) error {
	rest := s.queue.close(ctx, time.Second)
	ctx, cancel := context.WithTimeout(ctx, closeTakes)
	defer cancel()
	if err := s.queue.lane.giveBack(ctx, rest); err != nil {
		return fmt.Errorf("%w: give numbers back: %w", ErrUnavailable, err)
	}
	return nil
}
