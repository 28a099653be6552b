package builtin

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/flickr"
	"snowfence.example/snowfence/counter/leafalloc"
	"snowfence.example/snowfence/counter/rediscount"
	"snowfence.example/snowfence/counter/tinyid"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/store"
)

// leafSegment counts on a row of leaf_alloc.
func leafSegment(p *place) (settings, check, open) {
	var own counter.SegmentsConfig
	var row leafalloc.Config
	p.row = &row.Tag
	s := p.segments(&own)
	s["tag"], s["timeout"] = text(&row.Tag), duration(&row.Timeout)
	return s, nil, func(ctx context.Context) (kind.Minter, error) {
		row.DB, row.Dialect, row.Tag = p.databases[0].DB, leafalloc.PostgreSQL, cmp.Or(row.Tag, p.Name)
		if p.databases[0].MySQL {
			row.Dialect = leafalloc.MySQL
		}
		source, err := leafalloc.Open(ctx, row)
		if err != nil {
			return nil, err
		}
		m, err := foreign(ctx, p, source, own)
		m.caps.Row = source.Row
		return m, err
	}
}

// tinyID counts on a row of tiny_id_info.
func tinyID(p *place) (settings, check, open) {
	var own counter.SegmentsConfig
	var row tinyid.Config
	p.row = &row.BizType
	s := p.segments(&own)
	s["biz-type"], s["tries"], s["timeout"] = text(&row.BizType), number(&row.Tries, 1), duration(&row.Timeout)
	return s, nil, func(ctx context.Context) (kind.Minter, error) {
		row.DB, row.BizType = p.databases[0].DB, cmp.Or(row.BizType, p.Name)
		source, err := tinyid.Open(ctx, row)
		if err != nil {
			return nil, err
		}
		return foreign(ctx, p, source, own)
	}
}

// segments are the settings of segments whose step stands in a table.
func (p *place) segments(c *counter.SegmentsConfig) settings {
	s := p.common("max-wait", "guard", "guard-column")
	s["most-step"], s["target"] = number(&c.MostStep, 1), duration(&c.Target)
	return s
}

// stepped is a source whose table holds how long a segment is.
type stepped interface {
	counter.Source
	Step() int64
}

// foreign returns the minter of segments that another system's table counts.
func foreign(ctx context.Context, p *place, s stepped, own counter.SegmentsConfig) (*minter, error) {
	own.Config, own.Step = p.Config, s.Step()
	segments, err := counter.NewSegments(ctx, p.source(s), own)
	return segmented(p, segments, s.Step), err
}

// tickets64 draws from ticket servers.
func tickets64(p *place) (settings, check, open) {
	var own flickr.Config
	s := p.common("max-wait")
	s["timeout"], s["skip"] = duration(&own.Timeout), duration(&own.Skip)
	return s, nil, func(ctx context.Context) (kind.Minter, error) {
		own.Clock, own.Logger, own.Servers = p.Clock, p.config.Logger, nil
		for _, db := range p.databases {
			own.Servers = append(own.Servers, flickr.Server{DB: db.DB})
		}
		source, err := flickr.Open(ctx, own)
		if err != nil {
			return nil, err
		}
		m := ticketsOf(p, source)
		m.mint, m.caps.Most = sorted(m.mint), mostTickets(p.MaxWait)
		return m, nil
	}
}

// sorted mints the tickets of several servers, which one call draws in any order. The ids of one answer
// increase.
func sorted(draw mint) mint {
	return func(ctx context.Context, n int, into *kind.Batch) error {
		had := into.Len()
		if err := draw(ctx, n, into); err != nil {
			return err
		}
		slices.Sort(into.Numbers()[had:])
		return nil
	}
}

// mostTickets is how many tickets one call may ask for: as many as one server with a slow disk gives within
// max-wait. A call for more would fail, and its tickets would be gaps.
func mostTickets(maxWait time.Duration) int {
	const slow = 10 * time.Millisecond // a flush of the table and one of the binlog
	return int(max(1, cmp.Or(maxWait, time.Second)/slow))
}

// redisDated counts on a Redis key for each date.
func redisDated(p *place) (settings, check, open) {
	own := rediscount.Config{Length: 6}
	p.row = &own.Prefix
	s := p.common("max-wait", "guard", "guard-column")
	s["prefix"], s["length"], s["zone"] = text(&own.Prefix), number(&own.Length, 1), zone(&own.Zone)
	s["keep"], s["timeout"] = duration(&own.Keep), duration(&own.Timeout)
	source := func() (*rediscount.Source, error) { // before it is opened, it has no store
		own.Client, own.Clock, own.Prefix = commands{p.Store}, p.Clock, cmp.Or(own.Prefix, p.Name)
		return rediscount.New(own)
	}
	return s, func() error { _, err := source(); return err }, func(context.Context) (kind.Minter, error) {
		s, err := source()
		if err != nil {
			return nil, err
		}
		return ticketsOf(p, s), nil
	}
}

func ticketsOf(p *place, s counter.Source) *minter {
	return counted(p, counter.NewTickets(p.source(s), p.Config))
}

// commands sends commands to the engine behind a store and its decorators.
type commands struct{ store.Store }

// Do implements [rediscount.Client].
func (c commands) Do(ctx context.Context, args ...any) (any, error) {
	for s := c.Store; s != nil; {
		if client, ok := s.(rediscount.Client); ok {
			return client.Do(ctx, args...)
		}
		decorator, ok := s.(interface{ Unwrap() store.Store })
		if !ok {
			break
		}
		s = decorator.Unwrap()
	}
	return nil, errors.New("the store takes no commands, or is not open yet")
}
