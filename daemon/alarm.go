package daemon

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/internal/text"
)

const (
	// wayOn is the page about the ends of generators.
	wayOn = "docs/running-out.md"

	// lookEvery is how often watch looks at the generators, and sayEvery how often it repeats a message.
	lookEvery = 10 * time.Second
	sayEvery  = 24 * time.Hour

	// troubleEvery is how often watch repeats the trouble of a counter.
	troubleEvery = time.Minute
)

// alarm is the last message about a generator, and when watch repeats it.
type alarm struct {
	message string
	due     time.Duration // on the monotonic clock
}

// Stand is the state of a daemon. See [Config].Stands.
type Stand struct {
	Ready  bool   // as /readyz reports: each generator gives ids, or stands by and nothing is wrong
	Active bool   // as /activez reports: each generator gives ids here
	Text   string // how many generators give ids, and the reasons of the others
}

// watch logs which generators end soon or have ended, and reports to the config's Stands how the daemon stands, until the
// context ends, and once more then.
func (d *daemon) watch(ctx context.Context) {
	said, troubles := map[string]alarm{}, map[string]alarm{} // by generator
	for last := false; !last; {
		last = ctx.Err() != nil
		statuses := d.service.Statuses()
		for _, s := range statuses {
			d.sayEnd(ctx, s, said)
			d.sayTrouble(s, troubles)
		}
		stand := standOf(statuses)
		if d.pod != nil {
			d.pod.Set(stand.Active)
		}
		if d.config.Stands != nil {
			d.config.Stands(stand)
		}
		expired, stop := d.clock.After(cmp.Or(d.config.StandsEvery, lookEvery))
		select {
		case <-expired:
		case <-d.changed:
		case <-ctx.Done():
		}
		stop()
	}
}

// standOf is how a daemon with such generators stands.
func standOf(statuses []front.Status) Stand {
	n, rest := 0, ""
	for _, s := range statuses {
		switch p := s.Problem; {
		case p == nil:
			n++
		case p.Cause != nil && !s.StandsBy:
			rest += fmt.Sprintf("; %s: %v", s.Name, p.Cause)
		default:
			rest += fmt.Sprintf("; %s: %s", s.Name, p.Type.Title())
		}
	}
	whole := fmt.Sprintf("gives ids of %d of %s%s", n, text.Count(len(statuses), "generator"), rest)
	return Stand{front.Ready(statuses), front.Active(statuses), whole}
}

// sayTrouble logs that a counter's store fails to give numbers, and that it gives them again. A holder
// logs its own trouble.
func (d *daemon) sayTrouble(s front.Status, said map[string]alarm) {
	last, before := said[s.Name]
	t, now := s.Trouble, d.clock.Monotonic()
	switch {
	case s.Counter == nil:
	case t != nil && now >= last.due:
		said[s.Name] = alarm{t.Text, now + troubleEvery}
		d.log.Warn(t.Text, "generator", s.Name, "counter", s.Counter.Name, "since", t.Since.UTC())
	case t == nil && before:
		delete(said, s.Name)
		d.log.Info("the store gives numbers again", "generator", s.Name, "counter", s.Counter.Name)
	}
}

// sayEnd logs that a generator ends soon or has ended: at once, and then once a day.
func (d *daemon) sayEnd(ctx context.Context, s front.Status, said map[string]alarm) {
	if !s.EndsSoon {
		delete(said, s.Name)
		return
	}
	level, message, attributes := slog.LevelWarn, "the generator ends soon: prepare its way on", []any{"generator", s.Name}
	if p := s.Problem; p != nil && (p.Type == front.HorizonPassed || p.Type == front.NumbersUsedUp) {
		level, message, attributes = slog.LevelError, "the generator has ended: it mints no more ids", append(attributes, "problem", p.Type.String())
	}
	now := d.clock.Monotonic()
	if last := said[s.Name]; last.message == message && now < last.due {
		return
	}
	said[s.Name] = alarm{message, now + sayEvery}
	if c := s.Counter; c != nil {
		attributes = append(attributes, "counter", c.Name, "limit", c.Limit, "left", text.Count(c.Left, "number"))
	} else {
		days := int64(s.Ends.Sub(d.clock.Wall()) / (24 * time.Hour))
		layout := d.settings.Generators[s.Name].Layout
		if s.Lease != nil {
			layout = s.Lease.Layout
		}
		attributes = append(attributes, "layout", layout.String(), "left", text.Count(max(days, 0), "day"))
	}
	if !s.Ends.IsZero() {
		attributes = append(attributes, "ends", s.Ends.UTC())
	}
	d.log.Log(ctx, level, message, append(attributes, "see", wayOn)...)
}
