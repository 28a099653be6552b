package counter

import (
	"errors"
	"math"
	"slices"
	"time"

	"snowfence.example/snowfence/internal/stored"
)

// Status is how a counter stood when this process last read or wrote it.
type Status struct {
	Namespace, Name, Kind string

	// Next is the number that is reserved next, and Limit the greatest. Of a daily sequence
	// they are those of today, by this machine's clock.
	Next, Limit int64

	// Increment is the distance between two numbers. Of another [Source] it is that of the numbers in
	// hand, and zero while there are none, as for tickets.
	Increment int64

	// Left is how many numbers are left: up to the limit, and of segments the reserved ones in this
	// process. Total is how many there are in all.
	Left, Total int64

	// Held are the ranges that this process has reserved and not given, the one that numbers are
	// taken from first. Only segments have them.
	Held []Range

	// RunsOut is when no number is left, at the average rate since the counter was created. It
	// is zero for a daily sequence, on the counter's first day, and if it is further away than a
	// [time.Duration] reaches.
	RunsOut time.Time

	// Waiting is how many calls wait for numbers.
	Waiting int

	// LastError is the last reservation's error; nil after one that succeeded. A *[FullError] shows
	// when no number is left. FailingFor is since when reservations fail.
	LastError  error
	FailingFor time.Duration
}

// NearEnd is how long before the end of a counter or a layout a program should warn of it.
const NearEnd = 365 * 24 * time.Hour

// status returns the record's content, and nothing of a source of another kind. The process has held
// numbers in hand.
func (l *lane) status(held int64) Status {
	if l == nil {
		return Status{}
	}
	s := Status{Namespace: l.Namespace, Name: l.Name, Kind: l.kind, Limit: l.Limit, Next: l.Start, Increment: l.Increment}
	var record stored.Counter
	if c := l.seen.Load(); c != nil {
		record = *c
	}
	if i, ok := record.Lane(l.name); ok {
		s.Next = record.Lanes[i].Next
	}
	s.Total, s.Left = (l.Limit-l.Start)/l.Increment+1, l.leftOf(&record)+held
	if l.kind != stored.Daily {
		s.RunsOut = runsOut(record, s.Total-s.Left, s.Left, l.Clock.Wall())
	}
	return s
}

// rated is how long a counter is there before its use shows when it runs out.
const rated = 24 * time.Hour

// runsOut is when no number is left, at the average rate since the counter was created.
func runsOut(c stored.Counter, used, left int64, now time.Time) time.Time {
	if left == 0 {
		return c.Clock // when the last number was reserved
	}
	lived := now.Sub(c.Created)
	if lived < rated || used <= 0 {
		return time.Time{}
	}
	in := float64(left) / float64(used) * float64(lived)
	if in >= math.MaxInt64 {
		return time.Time{}
	}
	return now.Add(time.Duration(in))
}

// Status returns how the counter stands. Segments of another [Source] have no numbers of a
// record.
func (s *Segments) Status() Status { return s.queue.status() }

// Status returns how the counter stands. Tickets of another [Source] have no numbers of a record.
func (t *Tickets) Status() Status { return t.queue.status() }

// Status returns how the sequence stands today.
func (d *Daily) Status() Status {
	today := d.today()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.queue == nil || d.queue.lane.name != today { // how another date ended shows nothing of this one
		return (&lane{d.register, today}).status(0)
	}
	return d.queue.status()
}

// status returns the content of the record and the queue.
func (q *queue) status() Status {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.lane.status(q.stock.left())
	s.Name, s.Held, s.Waiting = q.name, q.stock.ranges(), len(q.calls)
	if i := slices.IndexFunc(s.Held, func(r Range) bool { return r.Count > 0 }); s.Increment == 0 && i >= 0 {
		s.Increment = s.Held[i].Increment
	}
	if s.Left == 0 || !errors.Is(q.trouble, ErrFull) { // otherwise only larger calls fail
		if s.LastError = q.trouble; s.LastError != nil {
			s.FailingFor = q.clock.Monotonic() - q.failing
		}
	}
	return s
}
