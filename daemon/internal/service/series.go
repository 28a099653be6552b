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
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/kind"
)

// maxAudits is how many audits of a generator are under way: each takes a connection to the database for
// each of its pages, and reservations need the others.
const maxAudits = 2

// Series implements [front.Use].
func (u *Use) Series() (kind.Series, error) {
	if err := u.paid(); err != nil {
		return nil, err
	}
	if u.m.caps.Series == nil {
		return nil, u.problem(front.NotASeries.Plain())
	}
	return reserving{u.m.caps.Series, *u}, nil
}

// reserving is a series whose verbs are counted, and whose errors are [*front.Problem]s.
type reserving struct {
	kind.Series
	use Use
}

// Reserve implements [kind.Series].
func (r reserving) Reserve(ctx context.Context, tenant string, timeout time.Duration) (kind.Reservation, error) {
	got, err := r.Series.Reserve(ctx, tenant, timeout)
	return got, r.done(1, err)
}

// Confirm implements [kind.Series].
func (r reserving) Confirm(ctx context.Context, tenant string, number int64, token string) error {
	if token == "" {
		return r.noToken()
	}
	return r.done(0, r.Series.Confirm(ctx, tenant, number, token))
}

// Void implements [kind.Series].
func (r reserving) Void(ctx context.Context, tenant string, number int64, token, reason string) error {
	if token == "" {
		return r.noToken()
	}
	return r.done(0, r.Series.Void(ctx, tenant, number, token, reason))
}

// Audit implements [kind.Series]. At most [maxAudits] of a generator are under way.
func (r reserving) Audit(ctx context.Context, tenant string) iter.Seq2[kind.Entry, error] {
	return func(yield func(kind.Entry, error) bool) {
		of := r.use.of
		defer of.audits.Add(-1)
		if of.audits.Add(1) > maxAudits {
			busy := front.RateLimited.Problem(nil)
			busy.Detail = fmt.Sprintf("%d lists of generator %s are being read, and the server reads no more at a time: ask again when one has ended", maxAudits, of.name)
			yield(kind.Entry{}, r.use.problem(busy))
			return
		}
		for e, err := range r.Series.Audit(ctx, tenant) {
			if err != nil {
				err = r.use.problem(reservationProblem(err))
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// done counts an answer with n numbers, or a problem.
func (r reserving) done(n int, err error) error {
	if err != nil {
		return r.use.problem(reservationProblem(err))
	}
	r.use.count(n)
	return nil
}

func (r reserving) noToken() error {
	return r.use.problem(front.InvalidReservation.Field("token", "", "must be given: the reservation has it"))
}

// reservationProblem makes a problem of a series' error.
func reservationProblem(err error) *front.Problem {
	var setting *counter.ConfigError
	switch {
	case errors.As(err, &setting):
		return front.InvalidReservation.Field(setting.Field, setting.Value, setting.Limit)
	case errors.Is(err, series.ErrEnded):
		_, detail, _ := strings.Cut(err.Error(), series.ErrEnded.Error()+": ")
		return &front.Problem{Type: front.ReservationEnded, Detail: detail, Cause: err}
	}
	return classify(err)
}
