package kinds

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/kind"
)

// Config is what counters get from the program.
type Config struct {
	Clock   snowfence.Clock
	Process counter.Process
	Logger  *slog.Logger // nil means no log
}

// Names returns the names of the kinds.
func Names() []string { return []string{"segment", "ticket", "daily"} }

// All returns the kinds, in the order of [Names].
func All(c Config) []kind.Kind {
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return []kind.Kind{
		counted{"segment", c, segment},
		counted{"ticket", c, ticket},
		counted{"daily", c, daily},
	}
}

// counted is a kind whose ids a store counts.
type counted struct {
	name   string
	config Config
	// configure returns what opens a counter, and its settings.
	configure func(*counter.Config) (map[string]setting, open)
}

// open opens a counter that has the settings' texts.
type open func(context.Context, counter.Config) (minter, error)

// minter is a counter as package kind sees it.
type minter interface {
	kind.Minter
	kind.Readier
	kind.Closer
	Status() counter.Status
}

// Name implements [kind.Kind].
func (k counted) Name() string { return k.name }

// Configure implements [kind.Kind].
func (k counted) Configure(texts map[string]string) (kind.Opener, error) {
	var c counter.Config
	settings, open := k.configure(&c)
	settings["name"] = text(&c.Name)
	settings["start"] = number(&c.Start, 0)
	settings["max-wait"] = duration(&c.MaxWait)
	if err := read(k.name, settings, texts); err != nil {
		return nil, err
	}
	return func(ctx context.Context, spec kind.Spec) (kind.Minter, error) {
		c := c
		c.Store, c.Namespace, c.Name = spec.Store, spec.Namespace, cmp.Or(c.Name, spec.Generator)
		c.Clock, c.Process = k.config.Clock, k.config.Process
		m, err := open(ctx, c)
		if err != nil {
			return nil, err
		}
		if s := m.Status(); nearEnd(s, k.config.Clock.Wall()) {
			k.config.Logger.Warn("the counter runs out within a year: plan another one",
				"generator", spec.Generator, "counter", s.Name, "limit", s.Limit, "left", s.Left, "at", s.RunsOut)
		}
		return m, nil
	}, nil
}

// nearEnd reports whether a counter runs out soon.
func nearEnd(s counter.Status, now time.Time) bool {
	return !s.RunsOut.IsZero() && s.RunsOut.Sub(now) < counter.NearEnd
}

// segment is [counter.Segments].
func segment(c *counter.Config) (map[string]setting, open) {
	var own counter.SegmentsConfig
	return map[string]setting{
			"increment": number(&c.Increment, 1), "limit": number(&c.Limit, 1),
			"step": number(&own.Step, 1), "most-step": number(&own.MostStep, 1), "target": duration(&own.Target),
		}, func(ctx context.Context, c counter.Config) (minter, error) {
			own := own
			own.Config = c
			s, err := counter.OpenSegments(ctx, own)
			return numbers{s}, err
		}
}

// ticket is [counter.Tickets].
func ticket(c *counter.Config) (map[string]setting, open) {
	return map[string]setting{"increment": number(&c.Increment, 1), "limit": number(&c.Limit, 1)},
		func(ctx context.Context, c counter.Config) (minter, error) {
			t, err := counter.OpenTickets(ctx, c)
			return numbers{t}, err
		}
}

// daily is [counter.Daily].
func daily(*counter.Config) (map[string]setting, open) {
	var own counter.DailyConfig
	return map[string]setting{
			"prefix": text(&own.Prefix), "zone": zone(&own.Zone), "digits": number(&own.Digits, 1), "step": number(&own.Step, 1),
		}, func(ctx context.Context, c counter.Config) (minter, error) {
			own := own
			own.Config = c
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

func (m numbers) Close(ctx context.Context) error { return m.counter.Close(ctx) }
func (m numbers) Status() counter.Status          { return m.counter.Status() }
func (m numbers) Ready() error                    { return ready(m.Status()) }

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
func (m dailies) Ready() error { return ready(m.Status()) }

// ready returns why a counter can't give numbers, as far as that is known.
func ready(s counter.Status) error {
	switch {
	case s.LastError != nil && (s.Waiting > 0 || snowfence.ClassOf(s.LastError) > snowfence.ClassUnavailable):
		return fmt.Errorf("%w: %w", kind.ErrUnavailable, s.LastError)
	case s.Left == 0 && s.Limit > 0:
		return &counter.FullError{Counter: s.Name, Limit: s.Limit}
	}
	return nil
}
