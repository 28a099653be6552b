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

// journalTakes is how long the journal's Take may last. Then the holder goes on without
// the journal.
const journalTakes = 5 * time.Second

// patientWithStore is how long a store may take to return its traits when a journal has
// them too.
const patientWithStore = time.Second

// A Journal keeps one page for the next process on this machine. With it the
// next process resumes the term of a crashed holder, even while the store does not answer.
// Package internal/journal keeps the page in a folder.
//
// One process at a time has a journal, and in it one holder. The journal's opener
// makes sure of that. One goroutine at a time calls the methods.
type Journal interface {
	// Take consumes the page of an earlier process: it returns the page, and from then
	// on, durably, no other call can return it. It returns no page and no error if there
	// is none. It is called once, before everything else.
	//
	// [ErrJournalRefused] is returned when a page is there and can't be used. The page is
	// useless from then on, and the journal is as good as empty. After any other error
	// the holder goes on without the journal.
	Take() ([]byte, error)

	// Keep replaces the page that Take returns to the next process. The new page is
	// durable when Keep returns without an error. After an error either page may be
	// there, or none.
	Keep(page []byte) error

	// Discard makes the page useless. When it returns without an error, that is durable,
	// and no other process has taken the page before.
	Discard() error
}

// JournalStatus is the status of a holder's journal.
type JournalStatus struct {
	// Kept is true while the term could be resumed from the journal.
	Kept bool
	// Used is the journal's bound: above every tick that was stamped so far.
	Used snowfence.Tick
	// Resumed is true when the present term was resumed from the journal.
	Resumed bool
}

// takePage consumes the journal's page. It logs a fault of the page, and the holder starts
// without it.
func (c *Config) takePage(ctx context.Context) *stored.Page {
	if c.Journal == nil {
		return nil
	}
	kept, err := drive.Await(ctx, c.Clock, journalTakes, errors.New("the disk did not answer in time"), c.Journal.Take)
	log := c.Logger.With("namespace", c.Namespace)
	switch {
	case errors.Is(err, ErrJournalRefused):
		log.Error("the journal's page is not used", "error", err)
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
		log.Error("the journal's page is not used", "error", err)
		return nil
	}
	return &page
}

// traits reads the store's traits. It waits no longer than a claim may wait, and no longer
// than the limit.
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

// recall reads the store's traits and consumes the journal's page, in this order. So a process
// that ends while the store is silent has not touched the journal. The page can stand in
// for the traits of a silent store. Then they are not certain.
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
		c.Logger.Warn("the store's traits can't be read: the journal's are used", "namespace", c.Namespace, "error", err)
		return page, store.Traits{Engine: "unknown", Durable: page.Loss == 0, Loss: page.Loss}, false, nil
	}
	return page, traits, true, err
}

// judgeTraits returns an error if the store can lose more than it could when the bounds of
// the journal's term were confirmed.
func (l *loop) judgeTraits(traits store.Traits) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.status.Traits.Loss; traits.Loss > known {
		return fmt.Errorf("%w: the store can lose %s now, and %s when the journal was kept: start again", lease.ErrJournal, traits.Loss, known)
	}
	l.status.Traits = traits
	return nil
}
