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
	return s, check, func(ctx context.Context, p *place) (kind.Minter, error) {
		own := own
		own.Config = p.Config
		s, err := counter.OpenSegments(ctx, own)
		if err != nil {
			return nil, err
		}
		return whole{numbers{s, p}, s, s.Step}, nil
	}
}

// ticket is [counter.Tickets].
func ticket(p *place) (settings, check, open) {
	return p.common("name", "start", "increment", "limit", "max-wait", "guard", "guard-column"), func() error { return p.Validate() }, func(ctx context.Context, p *place) (kind.Minter, error) {
		t, err := counter.OpenTickets(ctx, p.Config)
		return numbers{t, p}, err
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
	return s, check, func(ctx context.Context, p *place) (kind.Minter, error) {
		own := own
		own.Config = p.Config
		d, err := counter.OpenDaily(ctx, own)
		return dailies{d}, err
	}
}

// numbers is a counter whose ids are numbers.
type numbers struct {
	counter interface {
		Fill(ctx context.Context, ids []snowfence.ID) error
		Close(ctx context.Context) error
		Status() counter.Status
	}
	place *place
}

// Form is [kind.Number].
func (numbers) Form() kind.Form { return kind.Number }

// Mint has the counter fill the batch's own memory.
func (m numbers) Mint(ctx context.Context, n int, into *kind.Batch) error {
	had := into.Len()
	ids, err := into.GrowNumbers(n)
	if err == nil {
		err = m.counter.Fill(ctx, ids)
	}
	if err != nil {
		into.Truncate(had)
	}
	return err
}

// Close ends the counter, and closes what was opened for it.
func (m numbers) Close(ctx context.Context) error {
	return errors.Join(m.counter.Close(ctx), m.place.close())
}

func (m numbers) Status() counter.Status { return m.counter.Status() }
func (m numbers) Ready() error           { return ready(m.Status(), "") }

// whole is a minter that also gives whole segments, as a server of tinyid does.
type whole struct {
	numbers
	segments *counter.Segments
	step     func() int64
}

// Segment reserves a segment for the caller alone.
func (m whole) Segment(ctx context.Context) (counter.Range, error) {
	return m.segments.Reserve(ctx, m.step())
}

// Step is how many numbers the segment will have.
func (m whole) Step() int64 { return m.step() }

// dailies is a daily sequence.
type dailies struct{ *counter.Daily }

// Form is [kind.Text].
func (dailies) Form() kind.Form { return kind.Text }

// Mint implements [kind.Minter].
func (m dailies) Mint(ctx context.Context, n int, into *kind.Batch) error {
	texts, err := m.Fill(ctx, n)
	if err != nil {
		return err
	}
	had := into.Len()
	for _, text := range texts {
		if err := into.AppendText([]byte(text)); err != nil {
			into.Truncate(had)
			return err
		}
	}
	return nil
}

// Ready implements [kind.Readier].
func (m dailies) Ready() error { return ready(m.Status(), "today") }

// ready returns an error if a counter has no number left. What else fails, requests show.
func ready(s counter.Status, date string) error {
	if s.Left == 0 && s.Limit > 0 {
		return &counter.FullError{Counter: s.Name, Date: date, Limit: s.Limit}
	}
	return nil
}
