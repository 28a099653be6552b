package builtin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/lending"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/lend"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// lends returns a function that lends worker ids beside the holder's own. It returns nil when lending
// is off: the order of a namespace with one worker id needs a holder that is known to have stopped. A
// pinned worker id is the daemon's: borrowers get any of the others that the generator may use.
//
// Borrowers wait for the loss that the store has now. The holder's may be that of its journal's page, which an earlier
// process wrote: without the store's own traits nothing is lent.
func (p *place) lends(h *fence.Holder, g config.Generator) func() (kind.Lender, error) {
	status := h.Status()
	if status.Layout.Workers() == 1 || g.Standby || *g.LendShare == 0 {
		return nil
	}
	return func() (kind.Lender, error) {
		terms, err := p.termsNow(g, status.Layout)
		if err != nil {
			return nil, err
		}
		status := h.Status()
		switch {
		case status.Phase == lease.Failed.String() && errors.Is(status.LastError, fence.ErrJournal):
			// After another end for good each request finds by itself what is wrong with the namespace's record.
			return nil, fmt.Errorf("%w: %w", kind.ErrUnavailable, status.LastError)
		case status.Generator.ClockLost && !terms.EngineClock: // borrowers are judged by this clock
			return nil, fmt.Errorf("%w: %w", kind.ErrUnavailable, snowfence.ErrClockBehind)
		case status.Incarnation == "":
			return nil, fmt.Errorf("%w: %w", kind.ErrUnavailable, errors.New("the namespace's record is not known yet"))
		}
		terms.Known = stored.Namespace{Layout: status.Layout.String(), Incarnation: status.Incarnation, Datacenters: status.Datacenters}
		return lenderOf(terms, p.Store, p.Clock), nil
	}
}

// termsNow returns the terms of lending by the store's traits as they are now. An open store has them at hand.
func (p *place) termsNow(g config.Generator, layout snowfence.Layout) (lend.Terms, error) {
	ctx, cancel := context.WithTimeout(context.Background(), traitsWait)
	defer cancel()
	traits, err := p.Store.Traits(ctx)
	if err != nil {
		return lend.Terms{}, fmt.Errorf("%w: ask the store what it guarantees: %w", kind.ErrUnavailable, err)
	}
	return termsOf(g, p.Store, layout, traits)
}

// Lend lends worker ids of a generator with worker ids to this process, beside its daemons. known is the record of the
// generator's namespace in the store, and layout its layout.
func Lend(ctx context.Context, g config.Generator, s store.Store, clock snowfence.Clock, known stored.Namespace, layout snowfence.Layout) (kind.Lender, error) {
	if layout.Workers() == 1 || g.Standby {
		return nil, stored.Refuse("layout", layout.String(), "must have more than one worker id: the order of a single one is not lent")
	}
	traits, err := s.Traits(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask the store what it guarantees: %w", err)
	}
	terms, err := termsOf(g, s, layout, traits)
	terms.Known = known
	return lenderOf(terms, s, clock), err
}

// termsOf returns the terms of lending a generator's worker ids, without the namespace's record. It returns a
// *[stored.ConfigError] when the window is too short for the store's loss.
func termsOf(g config.Generator, s store.Store, layout snowfence.Layout, traits store.Traits) (lend.Terms, error) {
	_, engineClock := store.ClockOf(s)
	behind := g.Policy.WithDefaults(layout).MaxRollback
	state, err := lease.New(lease.Config{
		Namespace: g.Namespace, Layout: layout, Datacenters: g.Datacenters, Datacenter: g.Datacenter, Workers: g.Workers,
		Window: g.Window, MaxRollback: behind, EngineClock: engineClock,
	})
	if err != nil {
		return lend.Terms{}, err
	}
	terms := lend.Terms{Config: state.Config(), Loss: traits.Loss, EngineClock: engineClock, MaxBehind: behind}
	return terms, lease.Outlasts(terms.Config.Window, traits.Loss)
}

func lenderOf(terms lend.Terms, s store.Store, clock snowfence.Clock) kind.Lender {
	random := func(b []byte) error { _, err := rand.Read(b); return err }
	return lending.Lender{Lender: &lend.Lender{Terms: terms, Store: s, Clock: clock, Random: random}}
}
