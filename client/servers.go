package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"snowfence.example/snowfence"
)

// How long a server that failed is left alone: doubled with each failure in a row, and then
// multiplied by a random number from 0.5 to 1, so that clients do not come back together.
const (
	firstPause = 10 * time.Millisecond
	mostPause  = time.Second
)

// servers are the servers of a client. One goroutine at a time uses them.
type servers struct {
	config Config
	all    []*server
	now    int // the one that is used
	last   run // the greatest ids that were given out
}

// server is one server.
type server struct {
	address  string
	link     *link // nil while it is not connected
	failures int   // in a row
	until    time.Duration
	before   []run // its last answer
}

func newServers(cfg Config) servers {
	s := servers{config: cfg}
	for _, address := range cfg.Servers {
		s.all = append(s.all, &server{address: address})
	}
	return s
}

// fetch gets n ids from the first server that gives them. It tries for MaxWait.
func (s *servers) fetch(ctx context.Context, n int) ([]run, error) {
	clock := s.config.Clock
	began := clock.Monotonic()
	var reason error
	for {
		now := clock.Monotonic()
		to, pause := s.choose(now)
		switch {
		case reason != nil && now+pause-began >= s.config.MaxWait:
			return nil, fmt.Errorf("%w for %s: %w", ErrUnavailable, (now - began).Round(time.Millisecond), reason)
		case to == nil:
			if err := s.sleep(ctx, pause); err != nil {
				return nil, err
			}
			continue
		}
		runs, err := s.ask(ctx, to, n)
		if err == nil {
			return runs, nil
		}
		refused := new(ServerError)
		if errors.As(err, &refused) && snowfence.ClassOf(err) == snowfence.ClassUsage || ctx.Err() != nil {
			return nil, err
		}
		reason = err
		s.failed(to)
	}
}

// choose returns the server to ask, or how long each of them is to be left alone.
func (s *servers) choose(now time.Duration) (to *server, pause time.Duration) {
	for i := range s.all {
		at := (s.now + i) % len(s.all)
		to = s.all[at]
		left := to.until - now
		if left <= 0 {
			s.now = at
			return to, 0
		}
		if pause == 0 || left < pause {
			pause = left
		}
	}
	return nil, pause
}

func (s *servers) sleep(ctx context.Context, d time.Duration) error {
	expired, stop := s.config.Clock.After(d)
	defer stop()
	select {
	case <-expired:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ask asks one server.
func (s *servers) ask(ctx context.Context, to *server, n int) (runs []run, err error) {
	if to.link == nil {
		if to.link, err = connect(ctx, s.config, to.address); err != nil {
			return nil, err
		}
	}
	if runs, err = to.link.next(n); err != nil {
		return nil, err
	}
	if err := s.judge(to, runs); err != nil {
		return nil, err
	}
	to.failures, to.before, s.last = 0, runs, runs[len(runs)-1]
	return runs, nil
}

// judge refuses ids that may have been given out before.
func (s *servers) judge(from *server, runs []run) error {
	if s.config.Strict && s.last.count > 0 && runs[0].first <= s.last.last() {
		return fmt.Errorf("%w: server %s answered %d after %d", ErrBackwards, from.address, runs[0].first, s.last.last())
	}
	// Both are in increasing order.
	for i, j := 0, 0; i < len(runs) && j < len(from.before); {
		switch a, b := runs[i], from.before[j]; {
		case a.last() < b.first:
			i++
		case b.last() < a.first:
			j++
		default:
			return fmt.Errorf("%w: server %s answered %d again", ErrBackwards, from.address, max(a.first, b.first))
		}
	}
	return nil
}

// failed leaves a server alone for a while. Its connection ends, because an answer may still come:
// it is not known which request that would be for.
func (s *servers) failed(of *server) {
	of.close()
	pause := min(firstPause<<min(of.failures, 16), mostPause)
	of.failures++
	of.until = s.config.Clock.Monotonic() + pause/2 + time.Duration(s.config.Random()*float64(pause/2))
}

func (s *server) close() {
	if s.link != nil {
		s.link.close()
		s.link = nil
	}
}

func (s *servers) close() {
	for _, one := range s.all {
		one.close()
	}
}
