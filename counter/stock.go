package counter

import (
	"sync/atomic"
	"time"

	"snowfence.example/snowfence"
)

// stock is the numbers reserved ahead of the calls: the range in use, and the ready ones. A nil stock
// is one of a queue that reserves nothing ahead. All but take needs the queue's lock.
type stock struct {
	current atomic.Pointer[run] // never nil
	ready   []Range             // reserved and not begun, ascending
	pace    pace
}

func newStock(p pace) *stock {
	s := &stock{pace: p}
	s.current.Store(new(run))
	return s
}

// take fills ids from the current range, without a lock, or leaves them empty.
func (s *stock) take(ids []snowfence.ID) bool { return s != nil && s.current.Load().take(ids) }

// serve fills ids from all ranges, or leaves them empty.
func (s *stock) serve(ids []snowfence.ID, now time.Duration, waited bool) bool {
	if s == nil || s.take(ids) {
		return s != nil
	}
	rest := s.current.Load().seal() // from here on no call takes numbers without the lock
	enough := rest.Count+s.left() >= int64(len(ids))
	for n := 0; enough && n < len(ids); {
		if rest.Count == 0 {
			rest, s.ready = s.ready[0], s.ready[1:]
			s.pace.began(now, rest, waited)
		}
		k := rest.fill(ids[n:])
		n, rest = n+k, rest.from(int64(k))
	}
	s.current.Store(&run{Range: rest})
	return enough
}

// add adds a range, whose reservation took its time.
func (s *stock) add(got Range, took time.Duration) {
	if s != nil {
		s.ready, s.pace.latency = append(s.ready, got), took
	}
}

// wants reports whether another range is to be reserved.
func (s *stock) wants() bool { return s != nil && len(s.ready) < s.pace.depth }

// ranges returns the ranges, the current one first.
func (s *stock) ranges() []Range {
	if s == nil {
		return nil
	}
	current := s.current.Load()
	return append([]Range{current.from(current.next.Load())}, s.ready...)
}

// left is how many numbers no call has taken.
func (s *stock) left() (n int64) {
	for _, r := range s.ranges() {
		n += r.Count
	}
	return n
}

// empty takes the rest out of the stock.
func (s *stock) empty() []Range {
	if s == nil {
		return nil
	}
	rest := append([]Range{s.current.Load().seal()}, s.ready...)
	s.ready = nil
	return rest
}

// pace decides how far ahead ranges are reserved. The next one is as long as the demand needs for the
// target. While calls have to wait, more are kept ready.
type pace struct {
	least, most int64
	target      time.Duration
	deepest     int           // how many are ready at most
	now         int64         // the length of the next range
	depth       int           // how many are to be ready
	last        int64         // how many numbers the last one had; 0 before the first
	begun       time.Duration // when it was begun
	latency     time.Duration // of the last reservation
}

// began records that a range was begun now, and whether a call had to wait for it.
func (p *pace) began(now time.Duration, r Range, waited bool) {
	target := max(p.target, 4*p.latency)
	if p.last > 0 {
		lasted := max(now-p.begun, time.Microsecond)
		step := float64(p.last) * float64(target) / float64(lasted)
		p.now = int64(min(max(step, float64(p.least)), float64(p.most)))
		switch {
		case waited:
			p.depth = min(p.depth+1, p.deepest)
		case lasted > target/2:
			p.depth = max(p.depth-1, 1)
		}
	}
	p.last, p.begun = r.Count, now
}
