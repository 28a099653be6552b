package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence"
)

// How long a server that failed is left alone: doubled with each failure in a row, and then multiplied by a
// random number from 0.5 to 1, so that clients do not come back together.
const firstPause, mostPause = 10 * time.Millisecond, time.Second

const remembered = 1000 // runs of a server, to find those that come again

// servers are the servers of a client. One goroutine at a time uses them. Others may load the reason.
type servers struct {
	config Config
	all    []*server
	now    int                   // the one that is used
	reason atomic.Pointer[error] // of the last failure; nil since a server gave ids
	last   snowfence.ID          // the last id of the last answer; -1 before the first
}

// server is one server.
type server struct {
	address  string
	link     *link        // nil while it is not connected
	failures int          // in a row
	until    time.Time    // when it may be asked again
	highest  snowfence.ID // of all that it gave; -1 before the first
	recent   []run        // its last ids
}

func newServers(cfg Config) *servers {
	s := &servers{config: cfg, last: -1}
	for _, address := range cfg.Servers {
		s.all = append(s.all, &server{address: address, highest: -1})
	}
	return s
}

// fetch gets n ids from the first server that gives them. It tries until MaxWait after began.
func (s *servers) fetch(ctx context.Context, n int, began time.Time) ([]run, error) {
	for ctx.Err() == nil {
		present := now()
		to, left := s.choose(present)
		rest := s.config.MaxWait - present.Sub(began)
		if reason := s.reason.Load(); reason != nil && rest <= 0 {
			return nil, fmt.Errorf("%w within %s: %w", ErrUnavailable, s.config.MaxWait, *reason)
		}
		if to == nil {
			pause, cancel := context.WithTimeout(ctx, min(left, rest))
			<-pause.Done()
			cancel()
			continue
		}
		runs, err := s.ask(ctx, to, n)
		if err == nil {
			s.reason.Store(nil)
			return runs, nil
		}
		err = fmt.Errorf("client: server %s: %w", to.address, err)
		if errors.As(err, new(*ServerError)) && snowfence.ClassOf(err) == snowfence.ClassUsage {
			s.now = (s.now + 1) % len(s.all) // another may know the generator, or the token
			return nil, err
		}
		s.reason.Store(&err)
		s.failed(to, err)
	}
	return nil, ErrClosed
}

// choose returns the server to ask, or how long all of them are to be left alone.
func (s *servers) choose(present time.Time) (to *server, left time.Duration) {
	left = mostPause
	for i := range s.all {
		at := (s.now + i) % len(s.all)
		if left = min(left, s.all[at].until.Sub(present)); left <= 0 {
			s.now = at
			return s.all[at], 0
		}
	}
	return nil, left
}

// ask asks one server.
func (s *servers) ask(ctx context.Context, to *server, n int) (runs []run, err error) {
	if to.link == nil {
		if to.link, err = connect(ctx, s.config, to.address); err != nil {
			return nil, err
		}
	}
	if runs, err = to.link.next(n); err == nil {
		err = s.judge(to, runs)
	}
	if err != nil {
		return nil, err
	}
	s.last = runs[len(runs)-1].last()
	to.failures, to.highest, to.recent = 0, max(to.highest, s.last), append(to.recent, runs...)
	to.recent = to.recent[max(0, len(to.recent)-remembered):]
	return runs, nil
}

// judge refuses ids that may have been given out before.
func (s *servers) judge(from *server, runs []run) error {
	first := runs[0].first
	if s.config.Strict && first <= s.last {
		return fmt.Errorf("%w: %d after %d", ErrBackwards, first, s.last)
	}
	if first > from.highest {
		return nil
	}
	for _, before := range from.recent {
		for _, r := range runs {
			if r.first <= before.last() && before.first <= r.last() {
				return fmt.Errorf("%w: some of %d to %d", ErrBackwards, r.first, r.last())
			}
		}
	}
	return nil
}

// failed closes the connection, as the answer may still come, and leaves the server alone for a while. But one that has
// served, and then ends, may only have been idle for too long: so a new one is tried at once.
func (s *servers) failed(of *server, err error) {
	if l := of.link; l != nil {
		l.close()
		of.link = nil
		op := new(net.OpError)
		if l.served && (errors.Is(err, io.EOF) || errors.As(err, &op) && !op.Timeout()) {
			return
		}
	}
	var random [1]byte
	_, _ = rand.Read(random[:]) // it never fails
	half := min(firstPause<<min(of.failures, 16), mostPause) / 2
	if errors.As(err, new(*ServerError)) {
		half = min(half, mostPause/20) // it lives, and may give ids soon, as one that stands by
	}
	of.failures++
	of.until = now().Add(half + half*time.Duration(random[0])/256)
}
