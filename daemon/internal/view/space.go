package view

import (
	"context"
	"sync"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// firstWait is how long a reader waits for a namespace that nobody looked at for as long as lately. readLimit is how long a
// read may take.
const firstWait, lately, readLimit = 2 * time.Second, 5 * time.Second, 30 * time.Second

// pace says how soon a read may follow another: after a pause, and after share times as long as the other took.
type pace struct {
	pause time.Duration
	share int
	waits bool // for the read, if nobody waited lately
}

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

	mu      sync.Mutex    // guards what follows
	asked   time.Duration // when a watcher last asked, by the monotonic clock, as all here
	reading chan struct{} // closed when the read that was asked for ends; nil without one
	ended   time.Duration // of the last read
	took    time.Duration
	last    *snapshot // nil before the first
	err     error     // of the last read
}

func newSpace(p Pool, ours stored.Process, c snowfence.Clock) *space {
	return &space{Pool: p, ours: ours, clock: c, wanted: make(chan struct{}, 1)}
}

// run reads when it is asked to, one read at a time.
func (s *space) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wanted:
			s.read(ctx)
		}
	}
}

// ask begins a read if one is due. It returns a channel that is closed at the read's end if the reader should wait for it.
func (s *space) ask(p pace) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, unknown := s.clock.Monotonic(), s.last == nil && s.err == nil
	if s.reading == nil && (unknown || now-s.ended >= max(p.pause, time.Duration(p.share)*s.took)) {
		s.reading = make(chan struct{})
		s.wanted <- struct{}{} // it has room: no read is under way
	}
	if !p.waits {
		return nil
	}
	alone := now-s.asked > lately
	s.asked = now
	if unknown || alone {
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
	next, err := s.look(ctx, before)
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

// namespace is what a [State] shows.
func (s *space) namespace() Namespace {
	n := Namespace{Counts: map[string]int64{}, Holders: []Worker{}}
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
