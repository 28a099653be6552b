package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/fence"
)

// fenced is [fence.Open]. Its settings are keys of the generator itself, which package config reads.
func fenced(p *place) (settings, check, open) {
	return nil, nil, func(ctx context.Context) (kind.Minter, error) {
		g := p.config.Settings.Generators[p.generator]
		c := g.Fence()
		c.Store, c.Existing, c.Process, c.Clock = p.Store, p.Existing, p.Process, p.Clock
		c.Logger = cmp.Or(p.config.Logger, slog.New(slog.DiscardHandler)).With("generator", p.generator)
		c.OnWait, c.OnMade = p.config.OnWait, p.config.OnMade
		if tell := p.config.OnStanding; tell != nil {
			c.OnStanding = func(s fence.Standing) { tell(p.generator, s) }
		}
		c.HorizonNotice = time.Nanosecond // until then the daemon logs it
		kept := p.journal(ctx, g, c.Logger)
		if kept != nil {
			c.Journal = kept
			p.opened = append(p.opened, kept.Close)
		}
		holder, err := fence.Open(ctx, c)
		if err != nil {
			return nil, err
		}
		m, layout := minterOf(holder, p), holder.Status().Layout
		m.caps.Lend = p.lends(holder, g)
		if layout.Wide != g.Layout.Wide { // of the existing namespace, when the config leaves it open
			refused := snowfence.NewError(snowfence.ClassUsage, fmt.Sprintf("namespace %q has the wide layout %s: say --layout %[2]s, or give its generator kind: wide", g.Namespace, layout))
			return nil, errors.Join(refused, holder.Close(ctx))
		}
		return m, nil
	}
}

// minterOf returns the minter of a holder's ids: numbers, UUIDs, or wide ids with a text of their own.
func minterOf(h *fence.Holder, p *place) *minter {
	m := &minter{form: kind.Number, mint: filled((*kind.Batch).GrowNumbers, h.Fill), caps: kind.Caps{
		Lease: func() kind.Lease { return leaseOf(h.Status()) },
		Ready: func() error { return lasting(h.Status()) },
	}}
	switch layout := h.Status().Layout; {
	case layout.UUID():
		m.form, m.mint = kind.Wide, filled((*kind.Batch).GrowWides, h.FillWide)
	case layout.Wide:
		m.form, m.mint = kind.Text, func(ctx context.Context, n int, into *kind.Batch) error {
			ids := make([]snowfence.WideID, n)
			err := h.FillWide(ctx, ids)
			text := make([]byte, 0, 2*len(snowfence.WideID{}))
			for i := 0; i < n && err == nil; i++ {
				err = into.AppendText(layout.AppendID(text, ids[i]))
			}
			return err
		}
	}
	m.close = func(ctx context.Context) error { return errors.Join(h.Close(ctx), p.close()) } // the journal after the worker id
	return m
}

// leaseOf returns a holder's lease, as the daemon shows it.
func leaseOf(s fence.Status) kind.Lease {
	return kind.Lease{
		Layout: s.Layout, Policy: s.Policy, Worker: s.Worker, Term: s.Term, Until: s.Until, Left: s.Left, Window: s.Window,
		Extensions: s.Extensions, Losses: s.Losses, Outages: s.Outages, WindowsEnded: s.WindowsEnded, Generator: s.Generator,
		ClockOffset: s.ClockOffset, ClockCompared: s.ClockCompared, HorizonIn: s.HorizonIn,
		Failing: s.Store.Failing, FailingFor: s.Store.FailingFor, ReadOnly: s.Store.ReadOnly,
	}
}

// margin is how long before its end a lease stops counting as ready.
func margin(window time.Duration) time.Duration { return min(window/6, 10*time.Second) }

// lasting returns nil while the lease and the clock allow ids to be minted, and the lease outlasts its store by the margin.
func lasting(status fence.Status) error {
	switch {
	case !status.Ready && status.LastError != nil:
		return fmt.Errorf("%w: %w", kind.ErrUnavailable, status.LastError)
	case !status.Ready && status.Generator.ClockLost:
		return fmt.Errorf("%w: %w", kind.ErrUnavailable, snowfence.ErrClockBehind)
	case !status.Ready:
		return fmt.Errorf("%w: there is no lease", kind.ErrUnavailable)
	case status.Left < margin(status.Window):
		return fmt.Errorf("%w: the lease ends in %s", kind.ErrUnavailable, status.Left)
	}
	return nil
}

// traitsWait is how long a store may take to report whether it is lossy, where an earlier process's journal has it.
const traitsWait = time.Second

// journal opens the generator's journal, if it has one. It is for restarts alone, so ids need not wait for it.
func (p *place) journal(ctx context.Context, g config.Generator, log *slog.Logger) fence.ClosableJournal {
	folder := filepath.Join(p.config.Settings.Journals(), p.generator)
	switch {
	case g.Journal == config.JournalOn:
	case g.Journal == config.JournalOff, g.Layout.Workers() == 1:
		return nil
	default:
		none := fs.ErrNotExist
		if p.config.Settings.Data != "" {
			_, none = os.Stat(folder)
		}
		if none == nil { // an earlier process kept a journal, as its store was lossy; it may be away now
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, traitsWait)
			defer cancel()
		}
		traits, err := p.Store.Traits(ctx)
		if err == nil && traits.Loss == 0 || err != nil && none != nil {
			return nil
		}
		if p.config.Settings.Data == "" {
			log.Warn("without a journal a restart waits until the store can't lose the claim: set data or $HOME, no directory is known to keep one in")
			return nil
		}
	}
	kept, err := fence.OpenJournal(folder)
	switch {
	case err == nil:
		return kept
	case g.Journal == config.JournalOn:
		log.Error("the generator goes on without its journal", "error", err)
	default:
		log.Warn("without a journal a restart waits until the store can't lose the claim", "error", err)
	}
	return nil
}
