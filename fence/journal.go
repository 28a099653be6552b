package fence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
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
func (c *Config) takePage(ctx context.Context) *lease.Page {
	if c.Journal == nil {
		return nil
	}
	expired, stop := c.Clock.After(journalTakes)
	defer stop()
	type answer struct {
		page []byte
		err  error
	}
	answers := make(chan answer, 1) // room for an answer that nobody awaits
	go func() {
		page, err := c.Journal.Take()
		answers <- answer{page, err}
	}()
	var a answer
	select {
	case a = <-answers:
	case <-expired:
		a.err = errors.New("the disk did not answer in time")
	case <-ctx.Done():
		a.err = context.Cause(ctx)
	}
	log := c.Logger.With("namespace", c.Namespace)
	switch {
	case errors.Is(a.err, ErrJournalRefused):
		log.Error("what the journal holds is not used", "error", a.err)
		return nil
	case a.err != nil:
		log.Error("the holder goes on without its journal", "error", a.err)
		c.Journal = nil
		return nil
	case a.page == nil:
		return nil
	}
	page, err := lease.DecodePage(a.page)
	if err != nil {
		log.Error("what the journal holds is not used", "error", err)
		return nil
	}
	return &page
}

// recall reads the store's traits and consumes the journal's page, in this order:
// who ends while the store is silent has not touched the journal. A store that
// does not tell its traits can be known from the page, as far as it matters; then
// they are not certain.
func (c *Config) recall(ctx context.Context) (page *lease.Page, traits store.Traits, certain bool, err error) {
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

// ascertain reads the traits of a store that answers now, and could not tell
// them when the holder began.
func (l *loop) ascertain(reply lease.Reply) {
	if l.certain || reply.Err != nil {
		return
	}
	l.certain = true
	ctx, cancel := context.WithCancel(context.Background())
	l.stopTraits = cancel
	found := make(chan traitsFound, 1)
	l.traitsFound = found
	l.calls.Go(func() {
		traits, err := l.config.traits(ctx, mostTimeout)
		found <- traitsFound{traits, err}
	})
}

// traitsFound is what a store said of itself.
type traitsFound struct {
	traits store.Traits
	err    error
}

// judgeTraits ends a holder whose store can lose more than its bounds were
// confirmed for.
func (l *loop) judgeTraits(f traitsFound) {
	l.stopTraits()
	l.traitsFound = nil
	if f.err != nil || f.traits.Validate() != nil {
		l.certain = false // the next answer asks again
		return
	}
	l.mu.Lock()
	l.status.Traits = f.traits
	l.mu.Unlock()
	if known := l.state.Config().Loss; f.traits.Loss > known {
		l.step(lease.Unfit{Err: fmt.Errorf("%w: the store can lose %s now, and %s when the journal was kept: start again", lease.ErrJournal, f.traits.Loss, known)})
	}
}

// keep writes a page. The loop goes on meanwhile: a disk that is slow holds up
// the journal's bound, and no more.
func (l *loop) keep(r lease.Keep) {
	l.write(func() lease.Event {
		page, err := r.Page.Encode()
		if err == nil {
			err = l.config.Journal.Keep(page)
		}
		return lease.Kept{ID: r.ID, Err: err}
	})
}

func (l *loop) discard(r lease.Discard) {
	l.write(func() lease.Event { return lease.Discarded{ID: r.ID, Err: l.config.Journal.Discard()} })
}

// idle is the turn of a disk that was not asked for anything yet.
func idle() <-chan struct{} {
	turn := make(chan struct{})
	close(turn)
	return turn
}

// write lets the disk do something, after what it is doing. What was given up
// comes to its end first: its event is of no use to anybody then.
func (l *loop) write(do func() lease.Event) {
	written := make(chan lease.Event, 1) // room for an event that nobody awaits
	turn := make(chan struct{})
	previous := l.turn
	l.written, l.turn, l.hangs = written, turn, false
	select {
	case <-previous:
	default:
		l.hangs = true
	}
	go func() {
		<-previous
		event := do()
		close(turn)
		written <- event
	}()
}
