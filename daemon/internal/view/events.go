package view

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of an event.
const maxFields, maxText = 16, 300

// Events keeps the last [MaxEvents] records of a log, of level INFO and above. The zero Events is empty. It is safe for
// concurrent use.
type Events struct {
	mu    sync.Mutex // guards the fields below
	kept  []Event    // the one of number n is at n % MaxEvents
	count int64

	// The last record of each entry and namespace that warns that ids may repeat, the newest first. They stay until the process
	// ends: later records don't make those ids safe.
	unsafe []Event
}

// Handler returns a handler that keeps records and passes all of them on.
func (e *Events) Handler(next slog.Handler) slog.Handler { return &handler{next: next, events: e} }

// alarms returns the records that warn that ids may repeat, the newest first.
func (e *Events) alarms() []Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.unsafe)
}

// alarms reports whether an event warns that ids may repeat.
func (x Event) alarms() bool {
	return x.Entry == "copied" || x.Entry == "began-empty"
}

// newest returns the events, the newest first, until their texts have MaxEventText bytes.
func (e *Events) newest() []Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	all, room := make([]Event, 0, len(e.kept)), MaxEventText
	for i := range int64(len(e.kept)) {
		x := e.kept[(e.count-1-i)%MaxEvents]
		if room -= x.size(); room < 0 {
			break
		}
		all = append(all, x)
	}
	return all
}

// size is how many bytes the texts of an event have.
func (x Event) size() int {
	n := len(x.Text)
	for _, f := range x.Fields {
		n += len(f[0]) + len(f[1])
	}
	return n
}

func (e *Events) keep(x Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x.Number = e.count
	e.count++
	if x.alarms() {
		e.unsafe = slices.DeleteFunc(e.unsafe, func(old Event) bool { return old.Entry == x.Entry && old.field("namespace") == x.field("namespace") })
		e.unsafe = slices.Insert(e.unsafe, 0, x)
	}
	if len(e.kept) < MaxEvents {
		e.kept = append(e.kept, x)
		return
	}
	e.kept[x.Number%MaxEvents] = x
}

type handler struct {
	next   slog.Handler
	events *Events
	fields [][2]string
}

// Enabled implements [slog.Handler].
func (h *handler) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelInfo || h.next.Enabled(ctx, l)
}

// Handle implements [slog.Handler].
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelInfo {
		x := Event{Time: r.Time.UTC(), Level: "INFO", Text: short(r.Message), Fields: slices.Concat([][2]string{}, h.fields)}
		if r.Level >= slog.LevelWarn {
			x.Level = "WARN"
		}
		if r.Level >= slog.LevelError {
			x.Level = "ERROR"
		}
		r.Attrs(func(a slog.Attr) bool {
			x.Fields = appendField(x.Fields, a)
			return len(x.Fields) < maxFields
		})
		x.Entry = entryOf(x)
		h.events.keep(x)
	}
	if !h.next.Enabled(ctx, r.Level) {
		return nil
	}
	return h.next.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h *handler) WithAttrs(attributes []slog.Attr) slog.Handler {
	fields := slices.Clip(h.fields)
	for _, a := range attributes {
		fields = appendField(fields, a)
	}
	return &handler{h.next.WithAttrs(attributes), h.events, fields}
}

// WithGroup implements [slog.Handler]. Events leave groups out.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.next.WithGroup(name), h.events, h.fields}
}

// appendField adds a field, if there is room.
func appendField(fields [][2]string, a slog.Attr) [][2]string {
	if len(fields) >= maxFields {
		return fields
	}
	value := a.Value.Resolve()
	text := value.String()
	if value.Kind() == slog.KindTime {
		text = value.Time().UTC().Format(time.RFC3339)
	}
	return append(fields, [2]string{short(a.Key), short(text)})
}

// short cuts a text.
func short(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText-len("…")], "") + "…"
}
