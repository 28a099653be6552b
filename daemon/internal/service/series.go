package service

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/series"
	"snowfence.example/snowfence/daemon/kind"
)

// reserver is a minter whose numbers are reserved, and then confirmed or voided.
type reserver interface {
	kind.Minter
	// Text is a number as people write it.
	Text(number int64) string
	Reserve(ctx context.Context, tenant string, timeout time.Duration) (series.Reservation, error)
	Confirm(ctx context.Context, tenant string, number int64, token string) error
	Void(ctx context.Context, tenant string, number int64, token, reason string) error
	Audit(ctx context.Context, tenant string) iter.Seq2[series.Entry, error]
}

// Ending says how a reservation ends.
type Ending struct {
	Tenant string
	Number int64
	Token  string
	Void   bool // else it is confirmed
	Reason string
}

// Reserve reserves the next number of a series. A timeout of zero means the generator's. It
// returns a [*Problem] if there is none.
func (s *Service) Reserve(ctx context.Context, name, tenant string, timeout time.Duration) (series.Reservation, error) {
	g, of, err := s.series(name)
	if err != nil {
		return series.Reservation{}, err
	}
	r, err := of.Reserve(ctx, tenant, timeout)
	if err != nil {
		return series.Reservation{}, s.problem(g, reservationProblem(err))
	}
	s.count(g, 1)
	return r, nil
}

// End confirms or voids a reservation, and returns the number as people write it, or a [*Problem].
func (s *Service) End(ctx context.Context, name string, e Ending) (text string, err error) {
	g, of, err := s.series(name)
	if err != nil {
		return "", err
	}
	if e.Token == "" {
		return "", s.problem(g, invalid(InvalidReservation, "token", "", "must be given: the reservation has it"))
	}
	if e.Void {
		err = of.Void(ctx, e.Tenant, e.Number, e.Token, e.Reason)
	} else {
		err = of.Confirm(ctx, e.Tenant, e.Number, e.Token)
	}
	if err != nil {
		return "", s.problem(g, reservationProblem(err))
	}
	s.count(g, 0)
	return of.Text(e.Number), nil
}

// Audit returns every number of a series that was ever reserved, and how a number is written, or a
// [*Problem]. The sequence ends with its first error, which is one too. Of a generator it reads at most
// [maxAudits] at a time.
func (s *Service) Audit(ctx context.Context, name, tenant string) (entries iter.Seq2[series.Entry, error], text func(int64) string, err error) {
	g, of, err := s.series(name)
	if err != nil {
		return nil, nil, err
	}
	return func(yield func(series.Entry, error) bool) {
		defer g.audits.Add(-1)
		if g.audits.Add(1) > maxAudits {
			busy := RateLimited.Problem()
			busy.Detail = fmt.Sprintf("%d lists of generator %s are being read, and the server reads no more at a time: ask again when one has ended", maxAudits, name)
			yield(series.Entry{}, s.problem(g, busy))
			return
		}
		for e, err := range of.Audit(ctx, tenant) {
			if err != nil {
				err = s.problem(g, reservationProblem(err))
			}
			if !yield(e, err) {
				return
			}
		}
	}, of.Text, nil
}

// maxAudits is how many audits of a generator are under way: each takes a connection to the database for
// each of its pages, and reservations need the others.
const maxAudits = 2

// series finds a generator that is a series. Its error is a *Problem.
func (s *Service) series(name string) (*generator, reserver, error) {
	g, minter, err := s.ready(name, 1)
	if err != nil {
		return nil, nil, err
	}
	of, ok := minter.(reserver)
	if !ok {
		return nil, nil, s.problem(g, NotASeries.plain())
	}
	return g, of, nil
}

// reservationProblem makes a problem of a series' error.
func reservationProblem(err error) *Problem {
	var setting *counter.ConfigError
	switch {
	case errors.As(err, &setting):
		return invalid(InvalidReservation, setting.Field, setting.Value, setting.Limit)
	case errors.Is(err, series.ErrEnded):
		_, detail, _ := strings.Cut(err.Error(), series.ErrEnded.Error()+": ")
		return &Problem{Type: ReservationEnded, Detail: detail, cause: err}
	}
	return classify(err)
}
