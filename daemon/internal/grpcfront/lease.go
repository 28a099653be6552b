package grpcfront

import (
	"cmp"
	"context"
	"strconv"

	"snowfence.example/snowfence/api/snowfencev1"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/kind"
)

// Claim lends a worker id.
func (s *ids) Claim(ctx context.Context, r *snowfencev1.ClaimRequest) (*snowfencev1.Lease, error) {
	use, err := s.use(ctx, r.GetGenerator())
	if err != nil {
		return nil, err
	}
	lent, err := use.Claim(ctx, leaseForm(r.GetBorrower(), "", ""))
	return leaseOf(lent), err
}

// Extend moves the bound of a lease.
func (s *ids) Extend(ctx context.Context, r *snowfencev1.ExtendRequest) (*snowfencev1.Lease, error) {
	use, err := s.use(ctx, r.GetGenerator())
	if err != nil {
		return nil, err
	}
	lent, err := use.Extend(ctx, leaseForm(r.GetBorrower(), r.GetLease(), r.GetMark()))
	return leaseOf(lent), err
}

// Release gives a worker id back.
func (s *ids) Release(ctx context.Context, r *snowfencev1.ReleaseRequest) (*snowfencev1.ReleaseResponse, error) {
	use, err := s.use(ctx, r.GetGenerator())
	if err != nil {
		return nil, err
	}
	form := leaseForm(r.GetBorrower(), r.GetLease(), r.GetMark())
	if form.Open = r.GetOpen(); r.Next != nil {
		form.Next = strconv.FormatInt(r.GetNext(), 10)
	}
	return new(snowfencev1.ReleaseResponse), use.Release(ctx, form)
}

// use finds the generator of a call.
func (s *ids) use(ctx context.Context, generator string) (front.Use, error) {
	client, err := s.client(ctx)
	if err != nil {
		return nil, err
	}
	return client.Use(cmp.Or(generator, s.config.Generator))
}

func leaseForm(b *snowfencev1.Borrower, lease, mark string) kind.LeaseForm {
	return kind.LeaseForm{
		Now: strconv.FormatInt(b.GetNowMs(), 10), Host: b.GetHost(), PID: strconv.FormatInt(b.GetPid(), 10), Program: b.GetProgram(),
		Lease: lease, Mark: mark,
	}
}

// leaseOf is the message of an answer.
func leaseOf(a kind.Lent) *snowfencev1.Lease {
	l := a.Layout
	m := &snowfencev1.Lease{
		Lease: a.Lease, Mark: a.Mark, Worker: a.Worker, Datacenter: a.Datacenter, Layout: l.String(),
		UnitUs: l.Unit.Microseconds(), EpochMs: l.Epoch.UnixMilli(), Form: front.LeaseText(l), Base: a.Base, Check: a.Check,
		Floor: int64(a.Floor), Until: int64(a.Until), Horizon: int64(l.HorizonTick()), WindowMs: a.Window.Milliseconds(),
		ExtendAfterMs: (a.Window / 3).Milliseconds(), LossMs: front.LeaseLoss(a), MaxBehindMs: a.MaxBehind.Milliseconds(),
	}
	for _, f := range l.Fields {
		m.Fields = append(m.Fields, &snowfencev1.Field{Name: f.Kind.String(), Shift: int32(l.Shift(f.Kind)), Bits: int32(f.Bits)})
	}
	return m
}
