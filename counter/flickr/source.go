package flickr

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/internal/sqlsession"
)

const (
	inspect = "SELECT @@auto_increment_increment, @@auto_increment_offset, @@autocommit," +
		" @@global.auto_increment_increment, @@global.auto_increment_offset, " + logged

	// tries is how often a statement is tried on one server. InnoDB ends one of two REPLACEs at a time
	// with a deadlock, often several times in a row, and such a server must not be skipped.
	tries = 10
)

// ErrUnfit is returned for a server that gave a number outside its class, or none. Its settings
// changed, or its table is another one.
var ErrUnfit = snowfence.NewError(snowfence.ClassUsage, "snowfence: the ticket server is not fit")

// Source is a group of ticket servers. It is a [counter.Source], safe for concurrent use.
type Source struct {
	config Config

	mu      sync.Mutex // guards the fields below, and the servers' fields
	servers []*server
	first   int // whose turn it is
}

// server is one of them.
type server struct {
	Server
	settings settings      // zero until they are checked
	last     int64         // the greatest number that it gave
	until    time.Duration // by the monotonic clock: until when it is skipped; 0 if it is not
	unfit    error         // why it is never asked again; nil if it may be
}

var _ counter.Source = (*Source)(nil)

// Open reads and checks the settings of the servers. One that does not answer is skipped, and
// checked before its first number; one at least must answer.
//
// A *[counter.ConfigError] is returned for a setting that can't be used, of the config or of a
// server, and otherwise the errors of all servers.
func Open(ctx context.Context, c Config) (*Source, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	s := &Source{config: c}
	for _, given := range c.Servers {
		s.servers = append(s.servers, &server{Server: given})
	}
	var errs []error
	for _, sv := range s.servers {
		err := s.within(ctx, func(ctx context.Context) error { return s.check(ctx, sv) })
		switch {
		case sv.unfit != nil:
			return nil, err
		case err != nil:
			errs = append(errs, err)
			s.skip(sv, err)
		}
	}
	if len(errs) == len(s.servers) {
		return nil, fmt.Errorf("no ticket server gives a number: %w", errors.Join(errs...))
	}
	return s, nil
}

// Reserve implements [counter.Source]. A range is one number.
//
// The errors of all servers are returned when each of them failed, a *[counter.BackwardsError]
// or an error that is [ErrUnfit] among them.
func (s *Source) Reserve(ctx context.Context, need func() int64) (counter.Range, error) {
	var errs []error
	need() // a statement gives one number, however many are needed
	for _, sv := range s.turns() {
		number, err := s.ticket(ctx, sv)
		if err == nil {
			return counter.Range{First: number, Increment: 1, Count: 1}, nil
		}
		if ctx.Err() != nil { // the caller's, which shows nothing of the server
			return counter.Range{}, err
		}
		errs = append(errs, err)
		s.skip(sv, err)
	}
	return counter.Range{}, fmt.Errorf("no ticket server gives a number: %w", errors.Join(errs...))
}

// turns returns the servers in the order in which they are asked: round robin, and at the end the
// skipped ones. One that is not fit is left out while there is another.
func (s *Source) turns() []*server {
	s.mu.Lock()
	defer s.mu.Unlock()
	var fine, skipped, unfit []*server
	now := s.config.Clock.Monotonic()
	for i := range s.servers {
		sv := s.servers[(s.first+i)%len(s.servers)]
		switch {
		case sv.unfit != nil:
			unfit = append(unfit, sv)
		case now < sv.until:
			skipped = append(skipped, sv)
		default:
			fine = append(fine, sv)
		}
	}
	s.first = (s.first + 1) % len(s.servers)
	if order := append(fine, skipped...); len(order) > 0 {
		return order
	}
	return unfit
}

// within tries a request to one server, until it succeeds or the timeout ends.
func (s *Source) within(ctx context.Context, request func(context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	for range tries {
		if err = request(ctx); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// ticket draws a number from a server.
func (s *Source) ticket(ctx context.Context, sv *server) (number int64, err error) {
	err = s.within(ctx, func(ctx context.Context) error {
		if err := s.check(ctx, sv); err != nil {
			return err
		}
		s.mu.Lock()
		last, known := sv.last, sv.settings
		s.mu.Unlock()
		connection, err := sqlsession.Connection(ctx, sv.DB)
		if err != nil {
			return sv.in(err)
		}
		defer connection.Close() //nolint:errcheck // it goes back to its pool
		result, err := connection.ExecContext(ctx, known.replace())
		if err == nil {
			number, err = result.LastInsertId()
		}
		if err != nil {
			return s.explain(ctx, sv, connection, sv.in(err))
		}
		return s.accept(sv, last, number)
	})
	return number, err
}

// check reads and checks the settings of a server, unless that was done. It returns the error
// for which a server is not fit.
func (s *Source) check(ctx context.Context, sv *server) error {
	s.mu.Lock()
	done := sv.unfit != nil || sv.settings != settings{}
	err := sv.unfit
	s.mu.Unlock()
	if done {
		return err
	}
	read, err := look(sv.DB.QueryRowContext(ctx, inspect))
	if err != nil {
		return sv.in(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err = read.check(sv.Name, len(s.servers))
	for _, other := range s.servers {
		if err == nil && other != sv && other.settings != (settings{}) {
			err = read.apart(sv.Name, other.settings, other.Name)
		}
	}
	if err != nil {
		s.refuse(sv, err)
		return err
	}
	sv.settings = read
	return nil
}

// look reads settings.
func look(found *sql.Row) (s settings, err error) {
	err = found.Scan(&s.increment, &s.offset, &s.autocommit, &s.allIncrement, &s.allOffset, &s.statements)
	return s, err
}

// explain returns the error of a statement that failed, or refuses the server if its settings changed.
func (s *Source) explain(ctx context.Context, sv *server, connection *sql.Conn, failed error) error {
	now, err := look(connection.QueryRowContext(ctx, inspect))
	s.mu.Lock()
	defer s.mu.Unlock()
	now.autocommit = sv.settings.autocommit
	if err != nil || now == sv.settings {
		return failed
	}
	if sv.unfit == nil && now.statements != 0 {
		s.refuse(sv, now.check(sv.Name, len(s.servers)))
	}
	if sv.unfit == nil {
		s.refuse(sv, sv.in(fmt.Errorf("%w: its auto_increment_increment and auto_increment_offset were %d and %d (for new connections %d and %d), and are %d and %d (%d and %d): "+
			"stop all clients, set AUTO_INCREMENT of Tickets64 on every server above the greatest number of all of them, and start again", ErrUnfit,
			sv.settings.increment, sv.settings.offset, sv.settings.allIncrement, sv.settings.allOffset, now.increment, now.offset, now.allIncrement, now.allOffset)))
	}
	return sv.unfit
}

// refuse makes a server unfit. It needs the lock.
func (s *Source) refuse(sv *server, err error) {
	sv.unfit = err
	s.config.Logger.Error("ticket server is not fit, and is not asked again", "server", sv.Name, "error", err)
}

// accept refuses a number that may have been given before, and the server with it. When the
// number was asked for, the greatest one of the server was last.
func (s *Source) accept(sv *server, last, number int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	increment, offset := sv.settings.increment, sv.settings.offset
	var err error
	switch {
	case sv.unfit != nil:
		return sv.unfit
	case number < 0: // the column is unsigned
		err = &counter.FullError{Counter: "Tickets64", Limit: math.MaxInt64}
	case number == 0:
		err = fmt.Errorf("%w: it reports no LAST_INSERT_ID() of Tickets64", ErrUnfit)
	case number%increment != offset%increment:
		err = fmt.Errorf("%w: it gave %d, but its auto_increment_offset was %d and its auto_increment_increment %d: start again to read them", ErrUnfit, number, offset, increment)
	case number <= last:
		err = &counter.BackwardsError{Counter: "Tickets64", Next: number, Mark: last, By: "this process", Remedy: s.Remedy(last)}
	}
	if err != nil {
		s.refuse(sv, sv.in(err))
		return sv.unfit
	}
	if sv.until > 0 {
		s.config.Logger.Info("ticket server is back", "server", sv.Name)
	}
	sv.last, sv.until = max(sv.last, number), 0
	return nil
}

// Remedy describes how an operator sets a server above a number that is in use, for a
// *[counter.BackwardsError]. By itself a process does not ask it again: its own draws would lift the
// server above its own last number, and not above the others'.
func (s *Source) Remedy(mark int64) string {
	return fmt.Sprintf("set AUTO_INCREMENT of Tickets64 on that server above all numbers in use, %d or more, and start this process again", mark+1)
}

// skip leaves a server out for a while. Only the first failure is logged, until it is back.
func (s *Source) skip(sv *server, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sv.unfit != nil {
		return
	}
	if sv.until == 0 {
		s.config.Logger.Warn("ticket server fails, and is skipped while another one gives numbers", "server", sv.Name, "for", s.config.Skip, "error", err)
	}
	sv.until = s.config.Clock.Monotonic() + s.config.Skip
}

// in names the server that an error is about.
func (sv *server) in(err error) error { return fmt.Errorf("ticket server %s: %w", sv.Name, err) }
