package kinds

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/series"
	"snowfence.example/snowfence/kind"
)

// ErrReserve is returned by Mint of a [Series].
var ErrReserve = snowfence.NewError(snowfence.ClassUsage, "numbers of a series are reserved, and then confirmed or voided: they can't be minted")

// Series is a generator of kind series: for each tenant a series of numbers without holes.
type Series struct {
	config  series.Config // without a tenant
	timeout time.Duration
	place   *place
	created atomic.Bool           // the tables are there
	failed  atomic.Pointer[error] // the last verb's error
}

// lasts is how long a reservation lasts where nothing else is said.
const lasts = 10 * time.Minute

// gapless is [series.Series].
func gapless(p *place) (settings, open) {
	var own series.Config
	timeout := lasts
	s := p.common("name")
	s["prefix"], s["first"], s["timeout"] = text(&own.Prefix), number(&own.First, 1), duration(&timeout)
	return s, func(_ context.Context, p *place) (kind.Minter, error) {
		own := own
		own.Name, own.Dialect = p.Name, series.PostgreSQL
		if p.databases[0].MySQL {
			own.Dialect = series.MySQL
		}
		s := &Series{config: own, timeout: timeout, place: p}
		if _, err := s.of(""); err != nil {
			return nil, err
		}
		return s, nil
	}
}

// OpenSeries opens a generator of kind series, without a daemon.
func (c Config) OpenSeries(ctx context.Context, generator string) (*Series, error) {
	open, err := c.Configure(generator)
	if err != nil {
		return nil, err
	}
	m, err := open(ctx, kind.Spec{})
	if err != nil {
		return nil, err
	}
	return m.(*Series), nil
}

// Text returns a number with its prefix.
func (s *Series) Text(number int64) string { return fmt.Sprint(s.config.Prefix, number) }

// Reserve is [series.Series.Reserve]. A timeout of zero means the generator's. The first call
// makes the tables that are missing.
func (s *Series) Reserve(ctx context.Context, tenant string, timeout time.Duration) (r series.Reservation, err error) {
	err = s.verb(ctx, tenant, func(of *series.Series) error {
		db := s.place.databases[0].DB
		if !s.created.Load() {
			if err := series.Create(ctx, db, s.config.Dialect); err != nil {
				return err
			}
			s.created.Store(true)
		}
		r, err = of.Reserve(ctx, db, cmp.Or(timeout, s.timeout))
		return err
	})
	return r, err
}

// Confirm is [series.Series.Confirm].
func (s *Series) Confirm(ctx context.Context, tenant string, number int64, token string) error {
	return s.verb(ctx, tenant, func(of *series.Series) error {
		return of.Confirm(ctx, s.place.databases[0].DB, number, token)
	})
}

// Void is [series.Series.Void].
func (s *Series) Void(ctx context.Context, tenant string, number int64, token, reason string) error {
	return s.verb(ctx, tenant, func(of *series.Series) error {
		return of.Void(ctx, s.place.databases[0].DB, number, token, reason)
	})
}

// Audit is [series.Series.Audit].
func (s *Series) Audit(ctx context.Context, tenant string) iter.Seq2[series.Entry, error] {
	of, err := s.of(tenant)
	if err != nil {
		return func(yield func(series.Entry, error) bool) { yield(series.Entry{}, err) }
	}
	return of.Audit(ctx, s.place.databases[0].DB)
}

// of returns a tenant's series.
func (s *Series) of(tenant string) (*series.Series, error) {
	c := s.config
	c.Tenant = tenant
	return series.New(c)
}

// verb runs a verb, and notes whether the database failed.
func (s *Series) verb(ctx context.Context, tenant string, run func(*series.Series) error) error {
	of, err := s.of(tenant)
	if err != nil {
		return err
	}
	err = run(of)
	if err != nil && ctx.Err() == nil && snowfence.ClassOf(err) == snowfence.ClassUnknown { // the database's own
		err = fmt.Errorf("%w: %w", counter.ErrUnavailable, err)
		s.failed.Store(&err)
		return err
	}
	s.failed.Store(nil)
	return err
}

// Form is [kind.Text].
func (*Series) Form() kind.Form { return kind.Text }

// Mint returns [ErrReserve].
func (*Series) Mint(context.Context, int, *kind.Batch) error { return ErrReserve }

// Ready returns the last verb's error, if it was the database's.
func (s *Series) Ready() error {
	if err := s.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Close closes the database.
func (s *Series) Close(context.Context) error { return s.place.close() }
