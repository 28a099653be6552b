// Package lending reads the requests of borrowers from texts, and lends by package lend. Every error about a field of a
// request is a *[stored.ConfigError] with its name.
package lending

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/internal/lend"
	"snowfence.example/snowfence/internal/stored"
)

// Lender is a [kind.Lender].
type Lender struct{ *lend.Lender }

// Claim implements [kind.Lender].
func (l Lender) Claim(ctx context.Context, f kind.LeaseForm) (kind.Lent, error) {
	b, err := borrower(f)
	if err != nil {
		return kind.Lent{}, err
	}
	a, err := l.Lender.Claim(ctx, b)
	return Told(a), err
}

// Extend implements [kind.Lender].
func (l Lender) Extend(ctx context.Context, f kind.LeaseForm) (kind.Lent, error) {
	b, err := borrower(f)
	lease, wrong := leaseOf(f)
	if err := cmp.Or(err, wrong); err != nil {
		return kind.Lent{}, err
	}
	a, err := l.Lender.Extend(ctx, lend.Extension{Borrower: b, Lease: lease, Mark: f.Mark})
	return Told(a), err
}

// Release implements [kind.Lender]. It needs no clock.
func (l Lender) Release(ctx context.Context, f kind.LeaseForm) error {
	f.Now = cmp.Or(f.Now, "0")
	b, err := borrower(f)
	lease, wrong := leaseOf(f)
	r := lend.Release{Borrower: b, Lease: lease, Mark: f.Mark, Open: f.Open}
	if err := cmp.Or(err, wrong); err != nil {
		return err
	}
	if f.Next != "" {
		next, err := whole("next", f.Next, "must be a tick, as a whole number")
		if err != nil {
			return err
		}
		r.Next = (*snowfence.Tick)(&next)
	}
	return l.Lender.Release(ctx, r)
}

// Patience implements [kind.Lender]: a quarter of a second less than a borrower waits, so that
// it gets an answer even if the store is silent.
func (l Lender) Patience() time.Duration {
	return min(max(l.Terms.Config.Window/6, time.Second), 10*time.Second) - 250*time.Millisecond
}

// borrower reads who asks.
func borrower(f kind.LeaseForm) (lend.Borrower, error) {
	now, wrongNow := whole("now", f.Now, "must be the borrower's clock, in milliseconds since 1970")
	pid, wrongPID := whole("pid", cmp.Or(f.PID, "0"), "must be a whole number, 0 or more")
	b := lend.Borrower{Now: time.UnixMilli(now).UTC(), Host: f.Host, PID: int(pid), Program: f.Program, Token: f.Token}
	return b, cmp.Or(wrongNow, wrongPID)
}

// leaseOf reads the lease, which must be of the worker id in the request's path.
func leaseOf(f kind.LeaseForm) (lend.Lease, error) {
	l, err := lend.ParseLease(f.Lease)
	if err != nil {
		return l, stored.Refuse("lease", f.Lease, err.Error())
	}
	own := strconv.FormatInt(l.Worker, 10)
	return l, stored.RefuseIf(f.Worker != "" && f.Worker != own, "worker", f.Worker, "must be that of the lease, "+own)
}

// whole reads a whole number that is not negative, as it is written.
func whole(field, text, limit string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, stored.RefuseIf(err != nil || n < 0 || strconv.FormatInt(n, 10) != text, field, text, limit)
}

// Told is the answer in the form of the fronts; the zero one without a lease.
func Told(a lend.Answer) kind.Lent {
	if a.Lease.Term == 0 {
		return kind.Lent{}
	}
	return kind.Lent{
		Lease: a.Lease.String(), Mark: a.Mark, Worker: a.Lease.Worker, Datacenter: a.Datacenter(), Layout: a.Layout, Base: a.Base(), Check: a.Check(),
		Floor: a.Floor, Until: a.Lease.Until, Window: a.Window, Loss: a.Loss, MaxBehind: a.MaxBehind,
	}
}
