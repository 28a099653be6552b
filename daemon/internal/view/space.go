package view

import (
	"context"
	"sync"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// A reader waits firstWait at most for a read that is under way, and only if the one before is older than lately.
// readLimit is how long a read may take: a million registers take some time.
const firstWait, lately, readLimit = 2 * time.Second, 5 * time.Second, 5 * time.Minute

// While somebody looks, a read follows another after readPause, and after readShare times the other's length.
const readPause, readShare = time.Second, 10

// Pool is a namespace whose worker ids are shown.
type Pool struct {
	StoreName string // in stores; empty for the store of the configuration
	Store     store.Store
	Namespace string
}

// space reads a namespace for all that ask.
type space struct {
	Pool
	ours   stored.Process
	clock  snowfence.Clock
	wanted chan struct{} // has an element when a read is to begin

	mu      sync.Mutex    // guards the fields below
	reading chan struct{} // closed when the read that was asked for ends; nil without one
	ended   time.Duration // when the last read ended, by the monotonic clock
	took    time.Duration // by the last read
	looked  time.Duration // when a reader last looked, by the monotonic clock
	last    *snapshot     // nil before the first
	err     error         // of the last read
}

func newSpace(p Pool, ours stored.Process, c snowfence.Clock) *space {
	return &space{Pool: p, ours: ours, clock: c, wanted: make(chan struct{}, 1), looked: -lately}
}

// run reads when it is asked to, one read at a time. While somebody looks, it also asks by itself when a read is due. So one
// reader costs as many reads as a hundred.
func (s *space) run(ctx context.Context) {
	for ctx.Err() == nil {
		var due <-chan time.Time
		stop := func() bool { return false }
		if rest, watched := s.watched(); watched {
			due, stop = s.clock.After(rest)
		}
		select {
		case <-ctx.Done():
		case <-s.wanted:
			s.read(ctx)
		case <-due:
			if _, watched := s.watched(); watched {
				s.ask(readPause, readShare)
			}
		}
		stop()
	}
}

// watched reports whether somebody has looked lately, and the time until the next read is due.
func (s *space) watched() (rest time.Duration, watched bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Monotonic()
	return s.ended + max(readPause, readShare*s.took) - now, now-s.looked < lately
}

// look notes that somebody looks, and asks as ask does.
func (s *space) look() <-chan struct{} {
	s.mu.Lock()
	s.looked = s.clock.Monotonic()
	s.mu.Unlock()
	return s.ask(readPause, readShare)
}

// ask begins a read if one is due: a pause after the last one, and share times as long as that took. It returns a channel
// that is closed at the read's end if the reader should wait for it.
func (s *space) ask(pause time.Duration, share int) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	age, unknown := s.clock.Monotonic()-s.ended, s.last == nil && s.err == nil
	if s.reading == nil && (unknown || age >= max(pause, time.Duration(share)*s.took)) {
		s.reading = make(chan struct{})
		s.wanted <- struct{}{} // it has room while reads rest
	}
	if unknown || age > lately {
		return s.reading
	}
	return nil
}

// read takes a snapshot. The one before stays if that fails.
func (s *space) read(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	before, _ := s.shown()
	begun := s.clock.Monotonic()
	next, err := s.take(ctx, before)
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.reading)
	s.reading, s.ended, s.err = nil, s.clock.Monotonic(), err
	s.took = s.ended - begun
	if err == nil {
		next.shown.Took = s.took.Milliseconds()
		s.last = next
	}
}

// shown returns the last snapshot, or nil, and why the last read failed.
func (s *space) shown() (*snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.err
}

// namespace returns the namespace of a [State].
func (s *space) namespace() Namespace {
	n := Namespace{Counts: map[string]int64{}, Holders: []Worker{}, Rest: []Worker{}, Changes: []Change{}}
	last, err := s.shown()
	if last != nil {
		n = last.shown
	}
	n.Name, n.Store = s.Namespace, s.StoreName
	if err != nil {
		n.Error = short(err.Error())
	}
	return n
}
