package drive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

const (
	// journalTakes is how long the journal's Take may last. Then the holder goes on
	// without the journal.
	journalTakes = 5 * time.Second

	// patientWithStore is how long a store may take to return its traits when a journal
	// has them too.
	patientWithStore = time.Second
)

// Recollection is a holder's beginning.
type Recollection struct {
	Page    *stored.Page // of an earlier process's journal; nil without one
	Traits  store.Traits
	Certain bool // the traits are the store's own, not the page's
	Journal bool // the journal can be used
}

// Recall reads the store's traits, within the limit, and consumes the
// journal's page, in this order. So a process that ends while the store is silent has not
// touched the journal. The page can stand in for the traits of a silent store. Then they
// are not certain. A page of a store with another name is dropped: its ticks belong to a namespace
// there, and here another holder may have the same. The journal may be nil.
func Recall(ctx context.Context, s store.Store, name string, j Journal, clock snowfence.Clock, log *slog.Logger, limit time.Duration) (Recollection, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	traits := func(limit time.Duration) (store.Traits, error) {
		return await(ctx, clock, limit, ErrTimeout, func() (store.Traits, error) { return s.Traits(ctx) })
	}
	r := Recollection{Certain: true}
	var err error
	if j == nil {
		r.Traits, err = traits(limit)
		return r, err
	}
	if r.Traits, err = traits(min(limit, patientWithStore)); ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	r.Page, r.Journal = take(ctx, j, clock, log)
	if err := ofStore(r.Page, name); err != nil {
		log.Warn("the journal's term is not resumed: a worker id is claimed as without a journal", "worker", r.Page.Worker, "reason", err)
		r.Page = nil
	}
	switch {
	case err == nil:
	case r.Page == nil:
		r.Traits, err = traits(limit)
	default:
		log.Warn("the store does not report its guarantees: the journal's copy is used", "error", err)
		r.Traits, r.Certain = store.Traits{Engine: "unknown", Durable: r.Page.Loss == 0, Loss: r.Page.Loss}, false
		return r, nil
	}
	return r, err
}

// Record reads the namespace's record. It returns an error wrapping [store.ErrNotFound] for a new namespace,
// and [ErrTimeout] after the limit.
func Record(ctx context.Context, s store.Store, namespace string, clock snowfence.Clock, limit time.Duration) (stored.Namespace, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	entry, err := await(ctx, clock, limit, ErrTimeout, func() (store.Entry, error) { return s.Get(ctx, stored.NamespaceKey(namespace)) })
	if err != nil {
		return stored.Namespace{}, err
	}
	return stored.DecodeNamespace(entry.Value)
}

// ofStore returns an error if a page, which may be nil, is not known to be of the store with that name.
func ofStore(p *stored.Page, name string) error {
	switch {
	case p == nil || p.Store == name && name != "":
		return nil
	case p.Store == "":
		return errors.New("its page names no store: an earlier version wrote it")
	}
	return fmt.Errorf("its page is of the store %s, and this holder is on the store %s: a holder of the first store rests its worker id there until its window ends", p.Store, name)
}

// take consumes the journal's page. It logs a fault of the page, and the holder starts
// without it.
func take(ctx context.Context, j Journal, clock snowfence.Clock, log *slog.Logger) (page *stored.Page, usable bool) {
	kept, err := await(ctx, clock, journalTakes, errors.New("the disk did not answer in time"), j.Take)
	switch {
	case err != nil && !errors.Is(err, stored.ErrJournalRefused):
		log.Error("the holder goes on without its journal", "error", err)
		return nil, false
	case err == nil && kept == nil:
		return nil, true
	}
	var p stored.Page
	if err == nil {
		p, err = stored.DecodePage(kept)
	}
	if err != nil {
		log.Error("the journal's page is not used", "error", err)
		return nil, true
	}
	return &p, true
}
