package roster

import (
	"context"
	"fmt"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// CheckIssued finds stores that are older than the issued ids.
const CheckIssued Check = "issued"

// Begun returns the first tick that an id of the namespace can have, by a clock that was not off when the
// namespace was made.
func (r *Roster) Begun() snowfence.Tick {
	return r.layout.TickAt(r.record.Created.Add(-stored.ClockTolerance))
}

// PageOf reports whether a journal's page is of a namespace, or can't be read and may be.
func PageOf(namespace string, page []byte) bool {
	p, err := stored.DecodePage(page)
	return err != nil || p.Name == namespace
}

// Compare holds the store to a journal's page. It reports whether the page is of this namespace and store. A
// fault is found where the store is older: its register has an earlier term, or its until is below the ticks that
// the page shows as used. A release may lower until below these after the holder has discarded the page: so a page
// that was read before can be wrong, while holders run.
func (r *Roster) Compare(ctx context.Context, page []byte) (found []Finding, ours bool, err error) {
	fault := func(workers []int64, key, format string, args ...any) ([]Finding, bool, error) {
		text := fmt.Sprintf(format, args...) + ". Stop all holders, verify again, and see docs/restoring.md"
		return []Finding{{Severity: Fault, Check: CheckIssued, Workers: workers, Key: key, Text: text}}, true, nil
	}
	p, err := stored.DecodePage(page)
	here := stored.NamespaceKey(r.Name())
	switch {
	case err != nil:
		return fault(nil, here, "a journal's page can't be compared: %v", err)
	case p.Name != r.Name():
		return nil, false, nil
	case p.Namespace.Incarnation != r.record.Incarnation && p.Store != store.NameOf(r.config.Store):
		return nil, false, nil // of a namespace of that name elsewhere
	case p.Namespace.Incarnation != r.record.Incarnation || p.Namespace.Layout != r.record.Layout:
		return fault([]int64{p.Worker}, here, "a journal's page is of incarnation %s, and the namespace of %s: it was begun again since",
			p.Namespace.Incarnation, r.record.Incarnation)
	}
	w, err := r.Worker(ctx, p.Worker)
	if err != nil || w.Register.Term >= p.Register.Term && w.Register.Until >= p.Used {
		return nil, true, err
	}
	return fault([]int64{p.Worker}, w.Key, "a journal's page of term %d, version %s, until %d shows the ticks below %d as used, "+
		"and the store has term %d, until %d: the store is older than what was issued",
		p.Register.Term, p.Version, p.Register.Until, p.Used, w.Register.Term, w.Register.Until)
}
