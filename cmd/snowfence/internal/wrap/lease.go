package wrap

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/internal/lend"
)

// ErrEnded is returned if the program exited with 0 after the wrapper had ended it.
var ErrEnded = snowfence.NewError(snowfence.ClassLease, "snowfence: the program was ended, because it could not keep its worker id")

// Lender lends a worker id.
type Lender interface {
	Claim(context.Context, kind.LeaseForm) (kind.Lent, error)
	Extend(context.Context, kind.LeaseForm) (kind.Lent, error)
	Release(context.Context, kind.LeaseForm) error
}

// Config is the program, and the source of its worker id. Every field but Own must be given.
type Config struct {
	Lender    Lender
	Borrower  kind.LeaseForm // host, process and program, for people
	Clock     snowfence.Clock
	Random    io.Reader
	Ahead     time.Duration // how far ahead of the clock the program may stamp
	Arguments []string      // the program's path or name, and its arguments
	Environ   []string
	Terminal  bool   // the program stays in the terminal's process group, and gets the signals of keys from there
	Own       func() // leaves the signals to the wrapper; nil if only this package handles them
	Note      func(format string, args ...any)
}

// moment is one time by both clocks.
type moment struct {
	wall time.Time
	mono time.Duration
}

// lease is the worker id, as the wrapper knows it.
type lease struct {
	Config
	held        *lend.Held
	key, mark   string        // the last answer's lease, and the mark of the last extension
	sent, since moment        // the first sending of the last request, and of the last one that was answered
	due, loss   time.Duration // when the next extension goes, and the greatest loss of all answers
}

// reply is the end of an extension: the first answer to it, or an error for a lease that is gone.
type reply struct {
	lent kind.Lent
	came time.Duration
	err  error
}

func (c Config) now() moment { return moment{c.Clock.Wall(), c.Clock.Monotonic()} }

// form is a request of this moment.
func (c Config) form() kind.LeaseForm {
	f := c.Borrower
	f.Now = strconv.FormatInt(c.Clock.Wall().UnixMilli(), 10)
	return f
}

// claim claims a worker id, and tries again until it has it.
func (c Config) claim(ctx context.Context) (*lease, error) {
	for pause := time.Second; ; pause = min(2*pause, 30*time.Second) {
		l := &lease{Config: c, sent: c.now()}
		try, cancel := context.WithTimeout(ctx, 10*time.Second)
		lent, err := c.Lender.Claim(try, c.form())
		cancel()
		switch {
		case err == nil:
			l.held = lend.Hold(answer(lent), l.sent.mono, c.Clock.Monotonic())
			return l, l.took(lent, c.Clock.Monotonic())
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case snowfence.ClassOf(err) != snowfence.ClassUnavailable:
			return nil, err
		}
		c.Note("no worker id yet, and trying again in %s: %v", pause, err)
		c.wait(ctx, pause)
	}
}

// answer is the part of an answer that bounds are made of.
func answer(a kind.Lent) lend.Answer {
	return lend.Answer{Lease: lend.Lease{Worker: a.Worker, Until: a.Until}, Layout: a.Layout, Floor: a.Floor, Window: a.Window, Loss: a.Loss}
}

// took notes an answer. On a store that can lose writes a bound is usable one extension later. So extensions go twice as often.
func (l *lease) took(a kind.Lent, came time.Duration) error {
	l.key, l.since, l.due, l.loss = a.Lease, l.sent, l.sent.mono+a.Window/3, max(l.loss, a.Loss)
	if l.loss > 0 {
		l.due = max(l.sent.mono+a.Window/6, came+l.loss)
	}
	switch own := answer(a).Check(); {
	case own != a.Check:
		return fmt.Errorf("the first id of worker %d is %s here and %s at the daemon: one of the two programs is too old", a.Worker, own, a.Check)
	case a.Window < 6*a.Loss:
		return snowfence.NewError(snowfence.ClassUsage, fmt.Sprintf("the window of %s must be at least six times as long as what the store can lose, %s", a.Window, a.Loss))
	case a.Window < 6*l.Ahead:
		return snowfence.NewError(snowfence.ClassUsage, fmt.Sprintf("the window of %s must be at least six times as long as --ahead, %s", a.Window, l.Ahead))
	}
	return nil
}

// extend sends an extension until it is answered or the context ends.
func (l *lease) extend(ctx context.Context, answered chan<- reply) error {
	mark := make([]byte, 8)
	if _, err := io.ReadFull(l.Random, mark); err != nil {
		return fmt.Errorf("draw a mark: %w", err)
	}
	l.mark, l.sent = hex.EncodeToString(mark), l.now()
	l.held.Ask(l.sent.mono)
	f, patience := l.request(), l.patience()
	go func() {
		const first = 250 * time.Millisecond
		for pause := first; ctx.Err() == nil; pause = min(2*pause, 5*time.Second) {
			f.Now = l.form().Now
			try, cancel := context.WithTimeout(ctx, patience)
			lent, err := l.Lender.Extend(try, f)
			cancel()
			if err == nil && lent.Mark == f.Mark || errors.Is(err, lend.ErrGone) {
				answered <- reply{lent, l.Clock.Monotonic(), err}
				return
			}
			if pause == first && ctx.Err() == nil {
				l.Note("the worker id is not extended yet, and tried again: %v", err)
			}
			l.wait(ctx, pause)
		}
	}()
	return nil
}

// request is a request of this moment about the lease.
func (l *lease) request() kind.LeaseForm {
	f := l.form()
	f.Lease, f.Mark, f.Worker = l.key, l.mark, strconv.FormatInt(l.held.Answer().Lease.Worker, 10)
	return f
}

// patience is how long a try may take.
func (l *lease) patience() time.Duration {
	return min(max(l.held.Answer().Window/6, time.Second), 10*time.Second)
}

// left is how long the program may still run: by the wall clock and by the monotonic one; the earlier counts.
func (l *lease) left() time.Duration {
	a := l.held.Answer()
	end := a.Layout.TimeOf(l.held.Usable()).Add(-l.Ahead)
	allowed := min(end.Sub(l.since.wall), a.Window)
	now := l.now()
	return min(end.Sub(now.wall), allowed-(now.mono-l.since.mono))
}

// early reports whether the clock is below the floor.
func (l *lease) early() bool {
	return l.held.Answer().Layout.TickAt(l.Clock.Wall()) < l.held.Answer().Floor
}

// giveBack gives the worker id back with the lowest tick that was never stamped.
func (l *lease) giveBack(next snowfence.Tick) error {
	f := l.request()
	if l.held.Asking() {
		f.Open = l.mark
	}
	f.Mark, f.Next = "0000000000000000", strconv.FormatInt(int64(next), 10)
	ctx, cancel := context.WithTimeout(context.Background(), l.patience())
	defer cancel()
	return l.Lender.Release(ctx, f)
}

// wait waits, or until the context ends.
func (c Config) wait(ctx context.Context, pause time.Duration) {
	expired, stop := c.Clock.After(pause)
	defer stop()
	select {
	case <-expired:
	case <-ctx.Done():
	}
}
