package sim

import (
	"fmt"
	"strings"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/stored"
)

// layoutMutants are the bugs of comparing layouts.
func layoutMutants() []mutant {
	return []mutant{
		{number: 1, name: "any layout is accepted", bugs: func() bugs { return bugs{hear: acceptLayout} }},
		{number: 2, name: "the namespace's record is not compared after the claim", bugs: func() bugs { return bugs{hear: verifyNothing} }},
	}
}

// TestMutantsOfTheLayoutAreCaught plants them in drawn plans. One plan in twenty has two layouts.
func TestMutantsOfTheLayoutAreCaught(t *testing.T) {
	for _, m := range layoutMutants() {
		t.Run(fmt.Sprintf("L%d %s", m.number, m.name), m.caught)
	}
}

// acceptLayout finds the process's own layout in whatever the store has.
func acceptLayout(h *holder, e lease.Event) lease.Event {
	return found(e, func(reply *lease.Reply) {
		if reply.Entry.Key == stored.NamespaceKey(stored.DefaultNamespace) {
			writeLayout(reply, h.site.Layout)
		}
	})
}

// writeLayout puts a layout into the namespace's record that a read finds.
func writeLayout(reply *lease.Reply, l snowfence.Layout) {
	n, err := stored.DecodeNamespace(reply.Entry.Value)
	if err != nil {
		return
	}
	n.Layout = l.String()
	if value, err := n.Encode(); err == nil {
		reply.Entry.Value = value
	}
}

// verifyNothing finds the record that it knows, after the claim.
func verifyNothing(h *holder, e lease.Event) lease.Event {
	return found(e, func(reply *lease.Reply) {
		view := h.state.View()
		if value, err := view.Namespace.Encode(); err == nil && view.Phase == lease.Verifying {
			reply.Entry.Value = value
		}
	})
}

// TestEitherLayoutMayFoundTheNamespace: in drawn plans the misfits win the race to
// found the namespace, and lose it. A process that then accepts any layout is found in either case, in
// the other one's namespace.
func TestEitherLayoutMayFoundTheNamespace(t *testing.T) {
	won, lost := 0, 0
	for seed := uint64(0); seed < schedules && (won == 0 || lost == 0); seed++ {
		p := Draw(seed)
		if p.Founded || p.Misfits == 0 {
			continue
		}
		p.Rough = true
		for _, f := range Run(p, Config{bugs: layoutMutants()[0].bugs()}).Findings {
			if f.Rule != "layout" {
				t.Fatalf("seed %d: %s", seed, f)
			}
			_, founder, _ := strings.Cut(f.What, "the namespace is of ")
			switch founder {
			case fmt.Sprintf("%q", misfit(p.Layout)):
				won++
			case fmt.Sprintf("%q", p.Layout):
				lost++
			default:
				t.Errorf("seed %d: %s", seed, f)
			}
		}
	}
	if won == 0 || lost == 0 {
		t.Errorf("ids were issued %d times in a namespace that a misfit founded, and %d times by a misfit in another's", won, lost)
	}
}

// TestSlotsAreComparedWithThoseOfTheSameLayout: the ids of a misfit that founded the namespace are
// judged like all others, by its own layout.
func TestSlotsAreComparedWithThoseOfTheSameLayout(t *testing.T) {
	for _, test := range []struct {
		name       string
		one, other int // nodes; the last two are misfits
		repeated   bool
	}{
		{"of the plan's layout", 0, 1, true},
		{"of the misfits' layout", 2, 3, true},
		{"of two layouts", 1, 2, false},
	} {
		p := Plain()
		p.Nodes, p.Misfits = 4, 2
		w := newWorld(&p, Config{})
		for _, node := range []int{test.one, test.other} {
			w.issuedRange(w.issuerOf(w.nodes[node].site(), test.name), 0, 8, 9)
		}
		if found := w.report().Findings; test.repeated != (len(found) == 1 && found[0].Rule == "unique") {
			t.Errorf("%s: %v", test.name, found)
		}
	}
}
