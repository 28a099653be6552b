package builtin

import (
	"context"
	"errors"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/daemon/kind"
)

// segment is [counter.Segments].
func segment(p *place) (settings, check, open) {
	var own counter.SegmentsConfig
	s := p.common("name", "start", "increment", "limit", "max-wait", "guard", "guard-column")
	s["step"], s["most-step"], s["target"] = number(&own.Step, 1), number(&own.MostStep, 1), duration(&own.Target)
	check := func() error {
		own.Config = p.Config
		return own.Validate()
	}
	return s, check, func(ctx context.Context) (kind.Minter, error) {
		own.Config = p.Config
		s, err := counter.OpenSegments(ctx, own)
		if err != nil {
			return nil, err
		}
		return segmented(p, s, s.Step), nil
	}
}

// ticket is [counter.Tickets].
func ticket(p *place) (settings, check, open) {
	s := p.common("name", "start", "increment", "limit", "max-wait", "guard", "guard-column")
	return s, func() error { return p.Validate() }, func(ctx context.Context) (kind.Minter, error) {
		t, err := counter.OpenTickets(ctx, p.Config)
		return counted(p, t), err
	}
}

// daily is [counter.Daily].
func daily(p *place) (settings, check, open) {
	var own counter.DailyConfig
	s := p.common("name", "start", "max-wait")
	s["prefix"], s["zone"], s["digits"], s["step"] = text(&own.Prefix), zone(&own.Zone), number(&own.Digits, 1), number(&own.Step, 1)
	check := func() error {
		own.Config = p.Config
		return own.Validate()
	}
	return s, check, func(ctx context.Context) (kind.Minter, error) {
		own.Config = p.Config
		d, err := counter.OpenDaily(ctx, own)
		return &minter{kind.Text, dates(d), d.Close, countedCaps(d.Status, "today")}, err
	}
}

// dates mints the texts of a daily sequence.
func dates(d *counter.Daily) mint {
	return func(ctx context.Context, n int, into *kind.Batch) error {
		texts, err := d.Fill(ctx, n)
		for _, text := range texts {
			if err == nil {
				err = into.AppendText([]byte(text))
			}
		}
		return err
	}
}

// counted returns the minter of a counter, whose ids are numbers.
func counted(p *place, c interface {
	Fill(ctx context.Context, ids []snowfence.ID) error
	Close(ctx context.Context) error
	Status() counter.Status
}) *minter {
	return &minter{
		form:  kind.Number,
		mint:  filled((*kind.Batch).GrowNumbers, c.Fill),
		close: func(ctx context.Context) error { return errors.Join(c.Close(ctx), p.close()) },
		caps:  countedCaps(c.Status, ""),
	}
}

// countedCaps returns the abilities of a counter, which may be one of a date.
func countedCaps(status func() counter.Status, date string) kind.Caps {
	return kind.Caps{Counter: status, Ready: func() error { return left(status(), date) }}
}

// left returns an error if a counter's numbers are used up. Requests show its other failures.
func left(s counter.Status, date string) error {
	if s.Left == 0 && s.Limit > 0 {
		return &counter.FullError{Counter: s.Name, Date: date, Limit: s.Limit}
	}
	return nil
}

// segmented returns the minter of a counter that also gives whole segments, as a server of tinyid does.
func segmented(p *place, s *counter.Segments, step func() int64) *minter {
	m := counted(p, s)
	m.caps.Segments = segments{s, step}
	return m
}

// segments implements [kind.Segments].
type segments struct {
	counter *counter.Segments
	step    func() int64
}

// Segment reserves a segment for the caller alone.
func (s segments) Segment(ctx context.Context) (kind.Range, error) {
	return s.counter.Reserve(ctx, s.step())
}

// Step is how many numbers the segment will have.
func (s segments) Step() int64 { return s.step() }
