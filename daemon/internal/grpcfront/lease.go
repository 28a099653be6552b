package grpcfront

import (
	"cmp"
	"context"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/api/snowfencev1"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/internal/lend"
)

// Claim lends a worker id.
func (s *ids) Claim(ctx context.Context, r *snowfencev1.ClaimRequest) (*snowfencev1.Lease, error) {
	use, err := s.use(ctx, r.GetGenerator())
	if err != nil {
		return nil, err
	}
	a, err := use.Claim(ctx, borrower(r.GetBorrower()))
	return leaseOf(a), err
}

// Extend moves the bound of a lease.
func (s *ids) Extend(ctx context.Context, r *snowfencev1.ExtendRequest) (*snowfencev1.Lease, error) {
	use, err := s.use(ctx, r.GetGenerator())
	if err != nil {
		return nil, err
	}
	lease, err := readLease(r.GetLease())
	if err != nil {
		return nil, err
	}
	a, err := use.Extend(ctx, lend.Extension{Borrower: borrower(r.GetBorrower()), Lease: lease, Mark: r.GetMark()})
	return leaseOf(a), err
}

// Release gives a worker id back.
func (s *ids) Release(ctx context.Context, r *snowfencev1.ReleaseRequest) (*snowfencev1.ReleaseResponse, error) {
	use, err := s.use(ctx, r.GetGenerator())
	if err != nil {
		return nil, err
	}
	lease, err := readLease(r.GetLease())
	if err != nil {
		return nil, err
	}
	release := lend.Release{Borrower: borrower(r.GetBorrower()), Lease: lease, Mark: r.GetMark(), Open: r.GetOpen()}
	if r.Next != nil {
		release.Next = new(snowfence.Tick(r.GetNext()))
	}
	return new(snowfencev1.ReleaseResponse), use.Release(ctx, release)
}

// use finds the generator of a call.
func (s *ids) use(ctx context.Context, generator string) (front.Use, error) {
	client, err := s.client(ctx)
	if err != nil {
		return nil, err
	}
	return client.Use(cmp.Or(generator, s.config.Generator))
}

func borrower(b *snowfencev1.Borrower) lend.Borrower {
	return lend.Borrower{Now: time.UnixMilli(b.GetNowMs()).UTC(), Host: b.GetHost(), PID: int(b.GetPid()), Program: b.GetProgram()}
}

func readLease(text string) (lend.Lease, error) {
	l, err := lend.ParseLease(text)
	if err != nil {
		return l, front.InvalidLease.Field("lease", text, err.Error())
	}
	return l, nil
}

// leaseOf is the message of an answer.
func leaseOf(a lend.Answer) *snowfencev1.Lease {
	l := a.Layout
	m := &snowfencev1.Lease{
		Lease: a.Lease.String(), Mark: a.Mark, Worker: a.Lease.Worker, Datacenter: a.Datacenter(), Layout: l.String(),
		UnitUs: l.Unit.Microseconds(), EpochMs: l.Epoch.UnixMilli(), Form: front.LeaseText(l), Base: a.Base(), Check: a.Check(),
		Floor: int64(a.Floor), Until: int64(a.Lease.Until), Horizon: int64(l.HorizonTick()), WindowMs: a.Window.Milliseconds(),
		ExtendAfterMs: (a.Window / 3).Milliseconds(), LossMs: front.LeaseLoss(a), MaxBehindMs: a.MaxBehind.Milliseconds(),
	}
	for _, f := range l.Fields {
		m.Fields = append(m.Fields, &snowfencev1.Field{Name: f.Kind.String(), Shift: int32(l.Shift(f.Kind)), Bits: int32(f.Bits)})
	}
	return m
}
