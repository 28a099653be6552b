package fence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/lease/drive"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// journalTakes is how long a journal may take to say what it holds before the
// holder goes on without it.
const journalTakes = 5 * time.Second

// patientWithStore is how long a store may take to tell its traits when there
// is a journal to know them from.
const patientWithStore = time.Second

// A Journal keeps one page for the next process on this machine: what it needs
// to go on with the term of a holder that crashed, while the store does not
// answer. Package internal/journal keeps it in a folder.
//
// One process at a time has a journal, and in it one holder; whoever opens it
// sees to that. Its methods are called by one goroutine at a time.
type Journal interface {
	// Take consumes what an earlier process kept: it returns the page, and from
	// then on, durably, nobody else can have it. It returns no page and no error
	// if there is none. It is called once, before everything else.
	//
	// An error that is [ErrJournalRefused] says that what was there can't be
	// used, and why; it is useless from then on, and the journal is as good as
	// empty. After any other error the holder goes on without the journal.
	Take() ([]byte, error)

	// Keep makes page what Take gives to the next process, in place of what was
	// kept before. When it returns without an error that is durable. After an
	// error either page may be there, or none.
	Keep(page []byte) error

	// Discard makes all useless that was kept. When it returns without an error
	// that is durable, and nobody else has taken it before.
	Discard() error
}

// JournalStatus is how a holder's journal stands.
type JournalStatus struct {
	// Kept is true while the term could be resumed from the journal.
	Kept bool
	// Used is the journal's bound: above every tick that was stamped so far.
	Used snowfence.Tick
	// Resumed is true when the present term was resumed from the journal.
	Resumed bool
}

// takePage consumes the journal's page. Whatever is wrong with it is logged, and
// is no reason not to start.
func (c *Config) takePage(ctx context.Context) *stored.Page {
	if c.Journal == nil {
		return nil
	}
	kept, err := drive.Await(ctx, c.Clock, journalTakes, errors.New("the disk did not answer in time"), c.Journal.Take)
	log := c.Logger.With("namespace", c.Namespace)
	switch {
	case errors.Is(err, ErrJournalRefused):
		log.Error("what the journal holds is not used", "error", err)
		return nil
	case err != nil:
		log.Error("the holder goes on without its journal", "error", err)
		c.Journal = nil
		return nil
	case kept == nil:
		return nil
	}
	page, err := stored.DecodePage(kept)
	if err != nil {
		log.Error("what the journal holds is not used", "error", err)
		return nil
	}
	return &page
}

// traits reads the store's traits, and waits for them no longer than a claim
// may wait, and than the limit.
func (c *Config) traits(ctx context.Context, limit time.Duration) (store.Traits, error) {
	for _, given := range []time.Duration{c.ClaimWait, c.RequestTimeout} {
		if given > 0 {
			limit = min(limit, given)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	return drive.Await(ctx, c.Clock, limit, errTimeout, func() (store.Traits, error) { return c.Store.Traits(ctx) })
}

// recall reads the store's traits and consumes the journal's page, in this order:
// who ends while the store is silent has not touched the journal. A store that
// does not tell its traits can be known from the page, as far as it matters; then
// they are not certain.
func (c *Config) recall(ctx context.Context) (page *stored.Page, traits store.Traits, certain bool, err error) {
	if c.Journal == nil {
		traits, err = c.traits(ctx, mostTimeout)
		return nil, traits, true, err
	}
	traits, err = c.traits(ctx, patientWithStore)
	if ctx.Err() != nil {
		return nil, traits, false, context.Cause(ctx)
	}
	page = c.takePage(ctx)
	switch {
	case err == nil:
	case page == nil:
		traits, err = c.traits(ctx, mostTimeout)
	default:
		c.Logger.Warn("the store does not tell its traits: the journal's are taken", "namespace", c.Namespace, "error", err)
		return page, store.Traits{Engine: "unknown", Durable: page.Loss == 0, Loss: page.Loss}, false, nil
	}
	return page, traits, true, err
}

// judgeTraits returns why a holder can't go on with a store, if so: because it can lose
// more than the bounds of the journal's term were confirmed for.
func (l *loop) judgeTraits(traits store.Traits) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.status.Traits.Loss; traits.Loss > known {
		return fmt.Errorf("%w: the store can lose %s now, and %s when the journal was kept: start again", lease.ErrJournal, traits.Loss, known)
	}
	l.status.Traits = traits
	return nil
}
