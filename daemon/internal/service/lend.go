package service

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/lend"
	"snowfence.example/snowfence/internal/stored"
)

const (
	// claimPrice is the price of a claim in ids: the rates don't count a borrower's own ids.
	claimPrice = 1000

	// censusAge is how old the count of lent worker ids may be. Safety does not rest on limits of lending.
	censusAge = time.Second
)

// Claim implements [front.Use].
func (u *Use) Claim(ctx context.Context, f kind.LeaseForm) (lent kind.Lent, err error) {
	err = u.borrow(ctx, claimPrice, "claim", &f, func(ctx context.Context, l kind.Lender) error {
		if err := u.mayBorrow(ctx, l); err != nil {
			return err
		}
		defer func() { u.m.lent.end(f.Token, err == nil) }()
		if lent, err = l.Claim(ctx, f); err == nil {
			u.audit("lent", f, strconv.FormatInt(lent.Worker, 10))
		}
		return err
	})
	return lent, err
}

// Extend implements [front.Use].
func (u *Use) Extend(ctx context.Context, f kind.LeaseForm) (lent kind.Lent, err error) {
	err = u.borrow(ctx, 1, "extend", &f, func(ctx context.Context, l kind.Lender) error {
		lent, err = l.Extend(ctx, f)
		return err
	})
	return lent, err
}

// Release implements [front.Use].
func (u *Use) Release(ctx context.Context, f kind.LeaseForm) error {
	return u.borrow(ctx, 1, "release", &f, func(ctx context.Context, l kind.Lender) error {
		err := l.Release(ctx, f)
		if lease, wrong := lend.ParseLease(f.Lease); err == nil && wrong == nil { // not every protocol has the worker id in its path
			u.audit("given back", f, strconv.FormatInt(lease.Worker, 10))
		}
		return err
	})
}

// borrow is a request about a lease, for a price in ids. It counts.
func (u *Use) borrow(ctx context.Context, price int, verb string, f *kind.LeaseForm, ask func(context.Context, kind.Lender) error) error {
	l, err := u.lender(price)
	if err == nil {
		f.Token, err = u.token()
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, l.Patience())
	defer cancel()
	if err := ask(ctx, l); err != nil {
		p := leaseProblem(err)
		u.auditRefusal(verb, *f, p)
		return u.problem(p)
	}
	u.count(0)
	return nil
}

// lender returns the lender of the generator's worker ids, for a request of that price.
func (u *Use) lender(price int) (kind.Lender, error) {
	if err := u.client.pay(u.of, price); err != nil {
		return nil, err
	}
	if p := u.of.away(u.m); p != nil {
		return nil, u.problem(p)
	}
	if u.m.caps.Lend == nil {
		return nil, u.problem(front.NotLent.Plain())
	}
	l, err := u.m.caps.Lend()
	var setting *stored.ConfigError
	switch {
	case errors.As(err, &setting): // a window that the store's loss does not allow to lend by
		return nil, u.problem(detailed(front.NotLent, err, setting.Error()))
	case err != nil:
		return nil, u.problem(u.of.classify(err))
	}
	return l, nil
}

// token returns the name of the client's token, which must allow to lend, where clients need tokens.
func (u *Use) token() (string, error) {
	g := u.client.grant
	switch {
	case g == nil: // clients need no token, or the front has identified the client
		return "", nil
	case g.Lend == 0:
		p := front.NotAllowed.Plain()
		p.Detail = "the token lends no worker ids: its line in the file of tokens sets how many it may have, such as lend=100"
		return "", u.problem(p)
	}
	return g.Name, nil
}

// mayBorrow returns a problem unless another worker id may be lent. Then it begins a claim, which the caller ends.
func (u *Use) mayBorrow(ctx context.Context, l kind.Lender) error {
	g := u.client.grant
	token, limit := "", int64(math.MaxInt64)
	if g != nil {
		token, limit = g.Name, int64(g.Lend)
	}
	return u.m.lent.begin(ctx, l, u.client.service.clock, token, func(pool, all, own int64) error {
		most := pool * *u.of.settings.LendShare / 100
		p := front.LeaseLimit.Problem(nil)
		switch {
		case all >= most:
			p.Detail = fmt.Sprintf("%d of %d worker ids are lent, and lend-share lets at most %d be lent", all, pool, most)
		case own >= limit:
			p.Detail = fmt.Sprintf("the token has %d worker ids, as many as it may have", own)
		default:
			return nil
		}
		return p
	})
}

// audit logs who has got a worker id, or given one back.
func (u *Use) audit(what string, f kind.LeaseForm, worker string) {
	u.client.service.log.Info("audit: a worker id is "+what, "generator", u.of.name, "worker", worker,
		"token", f.Token, "host", f.Host, "pid", f.PID, "program", f.Program, "address", u.client.address)
}

// auditRefusal logs who was refused. Clients can cause any number of refusals, with any text, so it logs one a minute of each type.
func (u *Use) auditRefusal(verb string, f kind.LeaseForm, p *front.Problem) {
	s := u.client.service
	if p.Type == front.StoreUnavailable || !s.mayWarn(&u.of.audited[p.Type]) {
		return
	}
	reason := p.Detail
	if p.Cause != nil {
		reason = p.Cause.Error()
	}
	s.log.Info("audit: a borrower is refused", "verb", verb, "generator", u.of.name, "problem", p.Type.String(), "reason", reason, "token", f.Token,
		"host", front.Shown(f.Host), "pid", front.Shown(f.PID), "program", front.Shown(f.Program), "address", u.client.address)
}

// leaseProblem makes a problem of a lender's error.
func leaseProblem(err error) *front.Problem {
	var setting *stored.ConfigError
	var clock *lease.ClockError
	switch {
	case errors.As(err, &setting):
		return front.InvalidLease.Field(setting.Field, setting.Value, setting.Limit)
	case errors.As(err, &clock):
		return detailed(front.ClockUnsafe, err, "the borrower's clock: "+clock.Error())
	case errors.Is(err, lend.ErrMoved):
		return detailed(front.LeaseMoved, err, "a copy of the program extends this lease: claim another worker id")
	case errors.Is(err, lend.ErrGone):
		return detailed(front.LeaseGone, err, err.Error()+": claim another worker id")
	case errors.Is(err, lease.ErrNoWorker):
		return front.NoWorker.Problem(err)
	case errors.Is(err, snowfence.ErrBeforeEpoch), errors.Is(err, snowfence.ErrPastHorizon):
		return detailed(front.ClockUnsafe, err, "the borrower's clock: "+err.Error())
	case errors.Is(err, lend.ErrUnavailable):
		return front.StoreUnavailable.Problem(err)
	}
	return classify(err) // which may be a problem already
}

func detailed(t front.Type, cause error, detail string) *front.Problem {
	p := t.Problem(cause)
	p.Detail = detail
	if t.Meaning() == front.Conflict {
		p.RetryAfter = 0
	}
	return p
}

// lent is how many worker ids are lent, counted now and then. Its zero value is ready to use.
type lent struct {
	mu      sync.Mutex
	known   kind.Census
	counted time.Duration    // on the monotonic clock; 0 if it was not
	claims  map[string]int64 // under way, by token: each counts as lent until it ends
}

// begin begins a claim for a token, unless judge returns an error. Judge gets the size of the pool, and how many worker ids
// are lent in all and to the token, by a count that is young. One client counts for all.
func (t *lent) begin(ctx context.Context, l kind.Lender, clock snowfence.Clock, token string, judge func(pool, all, own int64) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := clock.Monotonic(); t.counted == 0 || now-t.counted >= censusAge {
		census, err := l.Census(ctx)
		if err != nil {
			return err
		}
		t.known, t.counted = census, clock.Monotonic()
	}
	all := t.known.Lent
	for _, claims := range t.claims {
		all += claims
	}
	if err := judge(t.known.Pool, all, t.known.ByToken[token]+t.claims[token]); err != nil {
		return err
	}
	if t.claims == nil {
		t.claims = map[string]int64{}
	}
	t.claims[token]++
	return nil
}

// end ends a claim. A worker id that it has got counts from now on, too.
func (t *lent) end(token string, got bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.claims[token]--; t.claims[token] == 0 {
		delete(t.claims, token)
	}
	if got {
		t.known.Lent++
		t.known.ByToken[token]++
	}
}
