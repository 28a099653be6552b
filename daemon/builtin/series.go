package builtin

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"iter"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/series"
	"snowfence.example/snowfence/daemon/kind"
)

// ErrReserve is returned by Mint of a [Series].
var ErrReserve = snowfence.NewError(snowfence.ClassUsage, "numbers of a series are reserved, and then confirmed or voided: they can't be minted")

// KindSeries is the kind of a [Series] generator.
const KindSeries = "series"

// Series is a generator of kind series: for each tenant a series of numbers without holes. It is
// safe for concurrent use.
type Series struct {
	config  series.Config // without a tenant
	timeout time.Duration // of a reservation
	wait    time.Duration // of a verb
	place   *place

	// A series has one writer at a time, and who waits for it in the database takes a connection.
	// So the verbs of this process wait for each other here. Tenants share a turn by chance.
	turns [64]chan struct{} // each has room for one
	seed  maphash.Seed
}

const (
	lasts = 10 * time.Minute // a reservation where nothing else is set
	waits = 5 * time.Second  // a verb
)

// gapless is [series.Series].
func gapless(p *place) (settings, check, open) {
	var own series.Config
	timeout, wait := lasts, waits
	s := p.common("name")
	s["prefix"], s["first"], s["max-wait"] = text(&own.Prefix), number(&own.First, 1), duration(&wait)
	s["timeout"] = within(&timeout, series.LeastTimeout, series.MostTimeout)
	check := func() error {
		own.Name, own.Dialect = p.Name, series.PostgreSQL
		_, err := series.New(own)
		return err
	}
	return s, check, func(context.Context) (kind.Minter, error) {
		if p.databases[0].MySQL {
			own.Dialect = series.MySQL
		}
		s := &Series{config: own, timeout: timeout, wait: wait, place: p, seed: maphash.MakeSeed()}
		for i := range s.turns {
			s.turns[i] = make(chan struct{}, 1)
		}
		return s, nil
	}
}

// OpenSeries opens a generator of kind series, without a daemon. It connects to nothing.
func (c Config) OpenSeries(ctx context.Context, generator string) (*Series, error) {
	return openAs[*Series](ctx, c, generator)
}

// Create makes the tables that are missing, or returns an error for them where the store must exist.
func (s *Series) Create(ctx context.Context) error {
	return s.verb(ctx, "", func(ctx context.Context, _ *series.Series) error {
		if s.place.Existing {
			return s.check(ctx)
		}
		return series.Create(ctx, s.place.databases[0].DB, s.config.Dialect)
	})
}

func (s *Series) check(ctx context.Context) error {
	return series.Check(ctx, s.place.databases[0].DB, s.config.Dialect)
}

// Text returns a number with its prefix.
func (s *Series) Text(number int64) string { return fmt.Sprint(s.config.Prefix, number) }

// Reserve is [series.Series.Reserve]. A timeout of zero means the generator's.
func (s *Series) Reserve(ctx context.Context, tenant string, timeout time.Duration) (kind.Reservation, error) {
	var r kind.Reservation
	err := s.verb(ctx, tenant, func(ctx context.Context, of *series.Series) (err error) {
		r, err = of.Reserve(ctx, s.place.databases[0].DB, cmp.Or(timeout, s.timeout))
		return err
	})
	return r, err
}

// Confirm is [series.Series.Confirm].
func (s *Series) Confirm(ctx context.Context, tenant string, number int64, token string) error {
	return s.verb(ctx, tenant, func(ctx context.Context, of *series.Series) error {
		return of.Confirm(ctx, s.place.databases[0].DB, number, token)
	})
}

// Void is [series.Series.Void].
func (s *Series) Void(ctx context.Context, tenant string, number int64, token, reason string) error {
	return s.verb(ctx, tenant, func(ctx context.Context, of *series.Series) error {
		return of.Void(ctx, s.place.databases[0].DB, number, token, reason)
	})
}

// Audit is [series.Series.Audit].
func (s *Series) Audit(ctx context.Context, tenant string) iter.Seq2[kind.Entry, error] {
	return func(yield func(kind.Entry, error) bool) {
		of, err := s.of(tenant)
		if err != nil {
			yield(kind.Entry{}, err)
			return
		}
		for e, err := range of.Audit(ctx, s.place.databases[0].DB) {
			if !yield(kind.Entry{Number: e.Number, State: string(e.State), Reason: e.Reason, Changed: e.Changed}, unavailable(ctx, err)) {
				return
			}
		}
	}
}

// of returns a tenant's series.
func (s *Series) of(tenant string) (*series.Series, error) {
	c := s.config
	c.Tenant = tenant
	return series.New(c)
}

// verb runs a verb when its turn has come, for as long as a verb may wait.
func (s *Series) verb(ctx context.Context, tenant string, run func(context.Context, *series.Series) error) error {
	of, err := s.of(tenant)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeoutCause(ctx, s.wait, fmt.Errorf("it took longer than max-wait, %s", s.wait))
	defer cancel()
	turn := s.turns[maphash.String(s.seed, tenant)%uint64(len(s.turns))]
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
		err = run(limited, of)
		if err != nil && limited.Err() == nil && snowfence.ClassOf(err) == snowfence.ClassUnknown {
			err = cmp.Or(s.check(limited), err) // of a missing table a driver reports only that
		}
	case <-limited.Done():
		err = limited.Err()
	}
	if err != nil && limited.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(limited), err)
	}
	return unavailable(ctx, err)
}

// unavailable marks an error of the database, which lacks a class; it leaves the error of a
// cancelled call as it is.
func unavailable(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || snowfence.ClassOf(err) != snowfence.ClassUnknown {
		return err
	}
	return fmt.Errorf("%w: %w", counter.ErrUnavailable, err)
}

// Form is [kind.Text].
func (*Series) Form() kind.Form { return kind.Text }

// Caps implements [kind.Capable].
func (s *Series) Caps() kind.Caps { return kind.Caps{Series: s} }

// Mint returns [ErrReserve].
func (*Series) Mint(context.Context, int, *kind.Batch) error { return ErrReserve }

// Close closes the database.
func (s *Series) Close(context.Context) error { return s.place.close() }
