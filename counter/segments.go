package counter

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
)

// SegmentsConfig says how segments are reserved.
type SegmentsConfig struct {
	// Config says which counter it is. [NewSegments] needs its Name, MaxWait and Clock only.
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

// Validate returns a *[ConfigError] for what [OpenSegments] refuses without asking the store. The
// Store may be nil.
func (c SegmentsConfig) Validate() error {
	if err := c.Config.Validate(); err != nil {
		return err
	}
	_, err := c.pace()
	return err
}

// pace returns the demand, or a *[ConfigError].
func (c SegmentsConfig) pace() (*pace, error) {
	c.Step = cmp.Or(c.Step, 1000)
	c.MostStep = cmp.Or(c.MostStep, max(c.Step, 1000*min(c.Step, 1<<40)))
	c.Target = cmp.Or(c.Target, 10*time.Second)
	switch {
	case c.Step < 1:
		return nil, refuse("step", c.Step, "must be at least 1")
	case c.MostStep < c.Step:
		return nil, refuse("most-step", c.MostStep, fmt.Sprintf("must be at least the step, %d", c.Step))
	case c.Target < 0:
		return nil, refuse("target", c.Target, "must not be negative")
	}
	return &pace{least: c.Step, most: c.MostStep, target: c.Target, now: c.Step, depth: 1}, nil
}

// Segments gives numbers from segments: ranges that are reserved in bulk, ahead of the demand.
// So a number costs no request to the store, and no lock. Its methods are safe for concurrent
// use.
//
// No number is given twice. The numbers of one process increase, if those of its source do. Those
// of several processes are mixed, segment by segment. A crash leaves a gap: the rest of the
// segments that were reserved.
type Segments struct {
	chain *chain
	least int64
}

// OpenSegments opens a counter of segments in a store, and reserves the first one. On a lossy
// store that takes as long as the store can lose writes for. A counter that has reached its limit
// opens, too: its calls fail.
//
// A *[ConfigError], *[MismatchError] or *[BackwardsError] is returned, or the store's own error. A
// *[UnavailableError] is returned when there is no segment after 10 s and what the store can lose,
// or after max-wait if that is longer.
func OpenSegments(ctx context.Context, c SegmentsConfig) (*Segments, error) {
	r, err := open(ctx, c.Config, stored.Segment)
	if err != nil {
		return nil, err
	}
	c.Config = r.Config
	return NewSegments(ctx, lane{r, ""}, c)
}

// NewSegments returns segments of a source: another system's table, for example. It reserves
// the first one, and fails as [OpenSegments] does.
func NewSegments(ctx context.Context, source Source, c SegmentsConfig) (*Segments, error) {
	p, err := c.pace()
	if err != nil {
		return nil, err
	}
	s := &Segments{newChain(source, c.Config, false, p), p.least}
	if err := s.chain.prime(ctx); err != nil {
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
	r := s.chain.current.Load()
	if i := r.next.Add(1) - 1; i < r.Count {
		return snowfence.ID(r.First + i*r.Increment), nil
	}
	var one [1]snowfence.ID
	err := s.chain.fill(ctx, one[:])
	return one[0], err
}

// Fill fills ids, in increasing order. It waits and fails as [Segments.Next] does. When it
// fails, no id of the batch may be used.
func (s *Segments) Fill(ctx context.Context, ids []snowfence.ID) error { return s.chain.fill(ctx, ids) }

// Step is the least length of a segment.
func (s *Segments) Step() int64 { return s.least }

// Reserve reserves n numbers, or fewer, for the caller alone, who counts in them by itself. None of them is given by Next
// or Fill, and none of them is ever given back. It asks the store each time, and waits and fails as [Segments.Next]
// does.
func (s *Segments) Reserve(ctx context.Context, n int64) (Range, error) {
	ch := s.chain
	ch.mu.Lock()
	closed := ch.closed
	ch.mu.Unlock()
	if closed {
		return Range{}, ErrClosed
	}
	begun := ch.clock.Monotonic()
	limited, cancel := context.WithTimeout(ctx, ch.wait)
	defer cancel()
	got, err := ch.source.Reserve(limited, func() int64 { return n })
	switch {
	case err == nil:
		return got, nil
	case ctx.Err() != nil:
		return Range{}, context.Cause(ctx)
	case final(err):
		return Range{}, err
	}
	return Range{}, &UnavailableError{Counter: ch.name, For: ch.clock.Monotonic() - begun, Reason: err}
}

// Close ends the counter. It gives the numbers back that no caller got, if nothing was
// reserved after them. Otherwise the counter skips them, and there is no error. It skips them too when the store
// fails. The error wraps [ErrUnavailable] then.
func (s *Segments) Close(ctx context.Context) error {
	rest := s.chain.close(ctx, time.Second)
	ctx, cancel := context.WithTimeout(ctx, closeTakes)
	defer cancel()
	if err := s.chain.register.giveBack(ctx, "", rest); err != nil {
		return fmt.Errorf("%w: give numbers back: %w", ErrUnavailable, err)
	}
	return nil
}

// pace is the demand of segments. The next step is as long as the demand needs for the target.
// While callers have to wait, more segments are kept ready.
type pace struct {
	least, most int64
	target      time.Duration
	now         int64         // the step
	depth       int           // how many are to be ready
	last        int64         // how many numbers the last segment had; 0 before the first
	begun       time.Duration // when it was begun
	latency     time.Duration // of the last reservation
}

// mostAhead is how many segments are kept ready at most.
const mostAhead = 8

func (p *pace) step() int64          { return p.now }
func (p *pace) ahead() int           { return p.depth }
func (p *pace) took(d time.Duration) { p.latency = d }

func (p *pace) began(now time.Duration, r Range, waited bool) {
	target := max(p.target, 4*p.latency)
	if p.last > 0 {
		lasted := max(now-p.begun, time.Microsecond)
		step := float64(p.last) * float64(target) / float64(lasted)
		p.now = int64(min(max(step, float64(p.least)), float64(p.most)))
		switch {
		case waited:
			p.depth = min(p.depth+1, mostAhead)
		case lasted > target/2:
			p.depth = max(p.depth-1, 1)
		}
	}
	p.last, p.begun = r.Count, now
}
