package builtin

import (
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

// lends returns what lends worker ids beside the holder's own. Nil means that none are lent: the order of a namespace with one
// worker id needs a holder that is known to have stopped. A pinned worker id is the daemon's: borrowers get any of the
// others that the generator may use.
func (p *place) lends(h *fence.Holder, g config.Generator) func() (kind.Lender, error) {
	status := h.Status()
	if status.Layout.Workers() == 1 || g.Standby || *g.LendShare == 0 {
		return nil
	}
	_, engineClock := store.ClockOf(p.Store)
	state, err := lease.New(lease.Config{
		Namespace: g.Namespace, Layout: status.Layout, Datacenters: g.Datacenters, Datacenter: g.Datacenter, Workers: g.Workers,
		Window: g.Window, MaxRollback: status.Policy.MaxRollback, EngineClock: engineClock,
	})
	if err == nil {
		err = lease.Outlasts(state.Config().Window, status.Traits.Loss)
	}
	return func() (kind.Lender, error) {
		status := h.Status()
		switch {
		case err != nil:
			return nil, err
		case status.Generator.ClockLost && !engineClock: // borrowers are judged by this clock
			return nil, fmt.Errorf("%w: %w", kind.ErrUnavailable, snowfence.ErrClockBehind)
		case status.Incarnation == "":
			return nil, fmt.Errorf("%w: %w", kind.ErrUnavailable, errors.New("the namespace's record is not known yet"))
		}
		known := stored.Namespace{Layout: status.Layout.String(), Incarnation: status.Incarnation, Datacenters: status.Datacenters}
		return lending.Lender{Lender: &lend.Lender{
			Terms: lend.Terms{Config: state.Config(), Known: known, Loss: status.Traits.Loss, EngineClock: engineClock, MaxBehind: status.Policy.MaxRollback},
			Store: p.Store, Clock: p.Clock, Random: func(b []byte) error { _, err := rand.Read(b); return err },
		}}, nil
	}
}
