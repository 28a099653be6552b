package daemon

import (
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

// snowflake is the minter of fenced ids of 64 bits: a holder, seen as package kind
// sees it. Package kind knows nothing of fences, and users of package fence
// need no batches, so the adapter is here.
type snowflake struct {
	*fence.Holder
	journal fence.ClosableJournal // nil where there is none
}

// Close gives the worker id back, and the journal after it.
func (s snowflake) Close(ctx context.Context) error {
	err := s.Holder.Close(ctx)
	if s.journal != nil {
		err = errors.Join(err, s.journal.Close())
	}
	return err
}

// wide is the minter of fenced ids of up to 128 bits.
type wide struct {
	snowflake
	layout snowfence.Layout
}

// Form is [kind.Wide] for UUIDs, and [kind.Text] for ids with a text of their own.
func (w wide) Form() kind.Form {
	if w.layout.UUID() {
		return kind.Wide
	}
	return kind.Text
}

// Mint has the holder fill the batch's own memory, or appends the layout's texts.
func (w wide) Mint(ctx context.Context, n int, into *kind.Batch) error {
	had := into.Len()
	uuids := w.Form() == kind.Wide
	var ids []snowfence.WideID
	var err error
	if uuids {
		ids, err = into.GrowWides(n)
	} else {
		ids = make([]snowfence.WideID, n)
	}
	if err == nil {
		err = w.FillWide(ctx, ids)
	}
	text := make([]byte, 0, 2*len(snowfence.WideID{}))
	for i := 0; i < n && err == nil && !uuids; i++ {
		err = into.AppendText(w.layout.AppendID(text, ids[i]))
	}
	if err != nil {
		into.Truncate(had)
	}
	return err
}

// Form is [kind.Number].
func (s snowflake) Form() kind.Form { return kind.Number }

// Mint has the holder fill the batch's own memory.
func (s snowflake) Mint(ctx context.Context, n int, into *kind.Batch) error {
	had := into.Len()
	ids, err := into.GrowNumbers(n)
	if err != nil {
		return err
	}
	if err := s.Fill(ctx, ids); err != nil {
		into.Truncate(had)
		return err
	}
	return nil
}

// margin is how long before its end a lease no longer counts as ready.
func margin(window time.Duration) time.Duration { return min(window/6, 10*time.Second) }

// Check returns nil while the lease and the clock allow ids to be minted.
func (s snowflake) Check() error { return check(s.Status()) }

func check(status fence.Status) error {
	switch {
	case status.Ready:
		return nil
	case status.LastError != nil:
		return fmt.Errorf("%w: %w", kind.ErrUnavailable, status.LastError)
	case status.Generator.ClockLost:
		return fmt.Errorf("%w: %w", kind.ErrUnavailable, snowfence.ErrClockBehind)
	}
	return fmt.Errorf("%w: there is no lease", kind.ErrUnavailable)
}

// Ready returns nil while ids can be minted and the lease outlasts its store by the margin.
func (s snowflake) Ready() error {
	status := s.Status()
	if err := check(status); err != nil {
		return err
	}
	if status.Left < margin(status.Window) {
		return fmt.Errorf("%w: the lease ends in %s", kind.ErrUnavailable, status.Left)
	}
	return nil
}

// fenced returns what opens a generator of fenced ids.
func (d *daemon) fenced(settings config.Generator) kind.Opener {
	return func(ctx context.Context, spec kind.Spec) (kind.Minter, error) {
		c := settings.Fence()
		c.Store, c.Existing = spec.Store, d.settings.StoreMustExist
		c.Process = Process(d.config.Version, d.started)
		c.Clock = d.clock
		c.Logger = d.log.With("generator", spec.Generator)
		c.HorizonNotice = time.Nanosecond // until then watch says it
		kept := d.journal(ctx, settings, spec, c.Logger)
		if kept != nil {
			c.Journal = kept
		}
		holder, err := fence.Open(ctx, c)
		if err != nil {
			if kept != nil {
				err = errors.Join(err, kept.Close())
			}
			return nil, err
		}
		s, layout := snowflake{holder, kept}, holder.Status().Layout
		switch {
		case layout.Wide != settings.Layout.Wide: // of a namespace that exists, when none is given
			refused := snowfence.NewError(snowfence.ClassUsage, fmt.Sprintf("namespace %q has the wide layout %s: its generator must have kind: wide", settings.Namespace, layout))
			return nil, errors.Join(refused, s.Close(ctx))
		case layout.Wide:
			return wide{s, layout}, nil
		}
		return s, nil
	}
}

// traitsWait is how long a store may take to say whether it is lossy, where an earlier process's journal says it.
const traitsWait = time.Second

// journal opens the generator's journal, if it has one. It is for restarts alone, so ids need not wait for it.
func (d *daemon) journal(ctx context.Context, settings config.Generator, spec kind.Spec, log *slog.Logger) fence.ClosableJournal {
	folder := filepath.Join(d.settings.Journals(), spec.Generator)
	switch {
	case settings.Journal == config.JournalOn:
	case settings.Journal == config.JournalOff, settings.Layout.Workers() == 1:
		return nil
	default:
		none := fs.ErrNotExist
		if d.settings.Data != "" {
			_, none = os.Stat(folder)
		}
		if none == nil { // an earlier process kept a journal, as its store was lossy; it may be away now
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, traitsWait)
			defer cancel()
		}
		traits, err := spec.Store.Traits(ctx)
		if err == nil && traits.Loss == 0 || err != nil && none != nil {
			return nil
		}
		if d.settings.Data == "" {
			log.Warn("without a journal a restart waits until the store can't lose the claim: set data or $HOME, no directory is known to keep one in")
			return nil
		}
	}
	kept, err := fence.OpenJournal(folder, settings.JournalAcrossReboots)
	switch {
	case err == nil:
		return kept
	case settings.Journal == config.JournalOn:
		log.Error("the generator goes on without its journal", "error", err)
	default:
		log.Warn("without a journal a restart waits until the store can't lose the claim", "error", err)
	}
	return nil
}

// Process describes this process, for people who read its registers.
func Process(version string, started time.Time) fence.Process {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fence.Process{Host: host, PID: os.Getpid(), Version: version, Started: started}
}
