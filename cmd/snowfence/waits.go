package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/counter"
)

// slow is when a verb says what it waits for.
const slow = 2 * time.Second

// awaiting says what a verb waits for, unless done is called soon.
func (p program) awaiting(what string) (done func()) {
	late, drop := p.clock.After(slow)
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer drop()
		select {
		case <-late:
			p.note("waiting for %s; Ctrl-C ends it", what)
		case <-quit:
		}
	}()
	return func() {
		close(quit)
		<-ended
	}
}

// patienceFlag adds --no-wait to a verb that writes, and returns how the write becomes certain.
func (p program) patienceFlag(cmd *cobra.Command) *counter.Patience {
	patience := counter.Patience{Waiting: func(until time.Time) {
		p.note("the store can lose what it acknowledged last: waiting until %s, to make sure that nothing is lost", until.UTC().Add(time.Second-1).Format(time.RFC3339))
	}}
	cmd.Flags().BoolVar(&patience.NoWait, "no-wait", false, "do not wait until a lossy store can't lose the write: exit code 6")
	return &patience
}

// waits tells the user of a verb what it waits for, and when it made a namespace, as one with a mistyped store
// does. It is the log of a holder, of which nothing else is shown.
type waits struct {
	program
	namespace, store string

	last string // what it waits for; written by the holder's goroutine
}

// Enabled implements [slog.Handler].
func (*waits) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle implements [slog.Handler].
func (w *waits) Handle(_ context.Context, r slog.Record) error {
	var parts []string
	r.Attrs(func(a slog.Attr) bool {
		parts = append(parts, fmt.Sprintf("%s %s", a.Key, a.Value))
		return true
	})
	switch {
	case strings.HasPrefix(r.Message, "made "):
		w.note("%s %q in %s: %s", r.Message, w.namespace, w.store, strings.Join(parts, ", "))
		return nil
	case !strings.HasPrefix(r.Message, "waiting"):
		return nil
	}
	w.last = r.Message
	w.note("%s: %s; Ctrl-C ends it", r.Message, strings.Join(parts, ", "))
	return nil
}

// WithAttrs implements [slog.Handler]. The verb has one namespace, so it need not be said.
func (w *waits) WithAttrs([]slog.Attr) slog.Handler { return w }

// WithGroup implements [slog.Handler].
func (w *waits) WithGroup(string) slog.Handler { return w }
