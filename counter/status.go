package counter

import (
	"math"
	"time"

	"snowfence.example/snowfence/internal/stored"
)

// Status is how a counter stood when this process last read or wrote it.
type Status struct {
	Namespace, Name, Kind string

	// Next is the number that is reserved next, and Limit the greatest. Of a daily sequence
	// they are those of today, by this machine's clock.
	Next, Limit int64

	// Left is how many numbers are left up to the limit, and Total how many there are in all.
	Left, Total int64

	// RunsOut is when no number is left, at the average rate since the counter was created. It
	// is zero for a daily sequence, on the counter's first day, and if it is further away than a
	// [time.Duration] reaches.
	RunsOut time.Time

	// Waiting is how many calls wait for numbers.
	Waiting int

	// LastError is the last reservation's error; nil after one that succeeded.
	LastError error
}

// NearEnd is how long before the end of a counter or a layout a program should say so.
const NearEnd = 365 * 24 * time.Hour

// status returns what the record shows.
func (r *register) status(lane string) Status {
	s := Status{Namespace: r.Namespace, Name: r.Name, Kind: r.kind, Limit: r.Limit, Next: r.Start}
	s.Total = (r.Limit-r.Start)/r.Increment + 1
	if c := r.seen.Load(); c != nil {
		if i, ok := c.Lane(lane); ok {
			s.Next = c.Lanes[i].Next
		}
		if r.kind != stored.Daily {
			s.RunsOut = runsOut(*c, s.Next, s.Limit, r.Clock.Wall())
		}
	}
	if s.Next <= s.Limit {
		s.Left = (s.Limit-s.Next)/r.Increment + 1
	}
	return s
}

// rated is how long a counter is there before its use says when it runs out.
const rated = 24 * time.Hour

// runsOut is when the limit is reached, at the average rate since the counter was created.
func runsOut(c stored.Counter, next, limit int64, now time.Time) time.Time {
	if next > limit {
		return c.Clock // when the last number was reserved
	}
	lived, used := now.Sub(c.Created), float64(next-c.Start)
	if lived < rated || used <= 0 {
		return time.Time{}
	}
	left := float64(limit-next) / used * float64(lived)
	if left >= math.MaxInt64 {
		return time.Time{}
	}
	return now.Add(time.Duration(left))
}

// Status returns how the counter stands. Segments of another [Source] have no numbers of a
// record.
func (s *Segments) Status() Status { return s.chain.status("") }

// Status returns how the counter stands. Tickets of another [Source] have no numbers of a record.
func (t *Tickets) Status() Status { return t.chain.status("") }

// Status returns how the sequence stands today.
func (d *Daily) Status() Status {
	today := d.today()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.chain == nil || d.date != today { // how another date ended says nothing of this one
		return d.register.status(today)
	}
	return d.chain.status(today)
}

// status returns what the record and the chain show.
func (ch *chain) status(lane string) Status {
	s := Status{Name: ch.name}
	if ch.register != nil {
		s = ch.register.status(lane)
	}
	ch.mu.Lock()
	defer ch.mu.Unlock()
	s.Waiting, s.LastError = ch.queue.Len(), ch.trouble
	return s
}
