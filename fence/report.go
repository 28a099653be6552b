package fence

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/store"
)

// Report implements [drive.Shell]: it writes the log, answers Open and calls OnLoss.
func (l *loop) Report(r lease.Report) {
	log := l.config.Logger.With("namespace", l.config.Namespace)
	switch r.What {
	case lease.Noted:
		level := slog.LevelWarn
		if errors.Is(r.Err, lease.ErrWindowEnded) {
			level = slog.LevelInfo // nothing went wrong: the process was not running for a while
		}
		log.Log(context.Background(), level, r.Err.Error())
	case lease.Waiting:
		l.wait(log, r)
	case lease.GaveUp:
		l.waitsFor(Waiting{})
		// It is tried again and again, and the times in the text change.
		if kind, now := fmt.Sprintf("%T", r.Err), l.config.Clock.Monotonic(); kind != l.logged || now-l.loggedAt >= time.Minute {
			l.logged, l.loggedAt = kind, now
			log.Error("claim a worker id", "error", r.Err)
		}
		l.answerOpen(l.blame(r.Err))
	case lease.Broken:
		log.Error("the holder can issue no more ids", "error", r.Err)
		l.answerOpen(r.Err)
	case lease.Lost:
		log.Error("lost a worker id", "worker", r.Worker, "term", r.Term, "error", r.Err)
		if l.config.OnLoss != nil {
			l.publish() // before OnLoss asks for the status
			go l.config.OnLoss(Loss{Namespace: l.config.Namespace, Worker: r.Worker, Term: r.Term, Reason: r.Err})
		}
	case lease.Interrupted:
		log.Error("issues no ids", "reason", r.Err)
	case lease.Resumed:
		log.Info("issues ids again", "after", r.For.Round(time.Millisecond))
	case lease.Silent:
		silent(log, r)
	case lease.Answered:
		what := "the store answers again"
		if r.Reads {
			what = "the store takes writes again"
		}
		log.Info(what, "after", r.For.Round(time.Millisecond))
	case lease.Made:
		if l.config.OnMade != nil {
			l.config.OnMade(l.config.Layout)
		}
		layout := l.config.Layout.String()
		if l.before {
			log.Warn("made a new namespace, though this host's journal has a term of one: if the store was emptied or exchanged, "+
				"ids that were given before may come again: see docs/restoring.md", "layout", layout)
		} else {
			log.Info("made a new namespace", "layout", layout)
		}
	case lease.Ended:
		ended(log, r)
	}
}

// silent logs that the store does not answer, takes no writes, or can't be used.
func silent(log *slog.Logger, r lease.Report) {
	text := "the store does not answer"
	switch {
	case errors.Is(r.Err, store.ErrDamaged):
		text = "the store can't be used"
	case r.Reads:
		text = "the store takes no writes"
	}
	log = log.With("for", r.For.Round(time.Millisecond))
	if r.Since > 0 && !r.Reads { // otherwise it has never answered this process
		log = log.With("last-answer-before", r.Since.Round(time.Millisecond))
	}
	log.Warn(text, "left", r.Left.Round(time.Millisecond), "error", r.Err)
}

// ended logs the end of the holder, and who gets its worker id.
func ended(log *slog.Logger, r lease.Report) {
	switch {
	case r.Term == 0:
		log.Info("closed")
	case r.For == 0:
		log.Warn("closed, but did not give the worker id back: the store is away", "worker", r.Worker)
	default:
		log.Info("closed, and left its worker id to the next process with its journal", "worker", r.Worker, "for", r.For.Round(time.Millisecond))
	}
}

// blame adds [ErrUnavailable] to the error of a claim whose cause is the store.
func (l *loop) blame(err error) error {
	refused := l.driver.State().View().Unanswered
	if refused == nil || errors.Is(err, store.ErrDamaged) || !errors.Is(err, refused) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// logTerm logs the beginning of a term.
func (l *loop) logTerm(r lease.Start) {
	until := l.config.Layout.TimeOf(l.driver.State().View().Usable)
	log := l.config.Logger.With("namespace", l.config.Namespace, "worker", r.Worker, "term", r.Term, "until", until)
	if r.Resumed {
		log.Info("resumed a term from the journal", "above", l.config.Layout.TimeOf(r.Floor))
	} else {
		log.Info("claimed a worker id", "clock-compared", r.Compared)
	}
}
