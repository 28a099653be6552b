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

// Ending says how a reservation ends.
type Ending struct {
	Tenant string
	Number int64
	Token  string
	Void   bool // else it is confirmed
	Reason string
}

// Reserve reserves the next number of a series. A timeout of zero means the generator's. It
// returns a [*Problem] if there is none, and costs one id, as End and Audit do.
func (u Use) Reserve(ctx context.Context, tenant string, timeout time.Duration) (kind.Reservation, error) {
	of, err := u.series()
	if err != nil {
		return kind.Reservation{}, err
	}
	r, err := of.Reserve(ctx, tenant, timeout)
	if err != nil {
		return kind.Reservation{}, u.problem(reservationProblem(err))
	}
	u.count(1)
	return r, nil
}

// End confirms or voids a reservation, and returns the number as people write it, or a [*Problem].
func (u Use) End(ctx context.Context, e Ending) (text string, err error) {
	of, err := u.series()
	if err != nil {
		return "", err
	}
	if e.Token == "" {
		return "", u.problem(invalid(InvalidReservation, "token", "", "must be given: the reservation has it"))
	}
	if e.Void {
		err = of.Void(ctx, e.Tenant, e.Number, e.Token, e.Reason)
	} else {
		err = of.Confirm(ctx, e.Tenant, e.Number, e.Token)
	}
	if err != nil {
		return "", u.problem(reservationProblem(err))
	}
	u.count(0)
	return of.Text(e.Number), nil
}

// Audit returns every number of a series that was ever reserved, and how a number is written, or a
// [*Problem]. The sequence ends with its first error, which is one too. Of a generator it reads at most
// [maxAudits] at a time.
func (u Use) Audit(ctx context.Context, tenant string) (entries iter.Seq2[kind.Entry, error], text func(int64) string, err error) {
	of, err := u.series()
	if err != nil {
		return nil, nil, err
	}
	return func(yield func(kind.Entry, error) bool) {
		defer u.of.audits.Add(-1)
		if u.of.audits.Add(1) > maxAudits {
			busy := RateLimited.Problem()
			busy.Detail = fmt.Sprintf("%d lists of generator %s are being read, and the server reads no more at a time: ask again when one has ended", maxAudits, u.of.name)
			yield(kind.Entry{}, u.problem(busy))
			return
		}
		for e, err := range of.Audit(ctx, tenant) {
			if err != nil {
				err = u.problem(reservationProblem(err))
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

// series returns what reserves the numbers of a series.
func (u Use) series() (kind.Series, error) {
	if err := u.paid(); err != nil {
		return nil, err
	}
	if u.m.caps.Series == nil {
		return nil, u.problem(NotASeries.plain())
	}
	return u.m.caps.Series, nil
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
