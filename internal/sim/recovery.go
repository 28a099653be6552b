package sim

import (
	"fmt"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
)

// debt is a group of nodes, and how many of them must issue ids again when the faults have ended: all
// of them, or as many as there are worker ids for.
type debt struct {
	what  string
	nodes []*node
	want  int
}

// awaitRecovery ends all faults and sets the clocks right. Then the nodes that are owed ids must issue
// ids soon: one window is for the last written bounds to end, and another for clocks that were a window
// ahead.
//
// The store's registers show which nodes are owed ids, once the last earlier message has arrived. A
// node is not to blame for a register whose worker id is taken for longer than a window from then on.
// Such a register may also be written a little later: a process that does not know the outcome of its
// write sends it again, and the write may come from a wrong clock. So the registers are read once more
// before a node is blamed.
func (w *world) awaitRecovery() {
	p := w.plan
	w.quiet = true
	for _, s := range w.servers {
		s.away = 0
	}
	for _, n := range w.nodes {
		n.clock.right()
		n.clock.slew(0) // one that runs fast makes its generator's time run ahead, which a policy may forbid
		n.cut, n.dry, n.armed = 0, 0, nil
	}
	w.tell("the faults have ended, and the clocks are right")
	w.until(max(w.agenda.Now(), w.latest))
	begun := w.agenda.Now()
	limit := 2*p.Window + p.Loss + w.slack()
	if p.Borrowers > 0 { // a borrower that gets neither an answer nor a refusal in time gives up a window after its bound
		limit += p.Window
	}
	debts := w.debts(begun)
	for len(w.found) == 0 {
		if _, open := unpaid(debts, debts); !open {
			break
		}
		if w.agenda.Now()-begun <= limit && w.agenda.Proceed() {
			continue
		}
		if d, open := unpaid(debts, w.debts(begun)); open {
			w.breaks("live", "%d of %d nodes of %s issue %s after the faults ended, and %d should", d.living(), len(d.nodes), d.what, limit, d.want)
		}
		break
	}
	for _, d := range debts {
		w.tally.Counts[Owed] += int64(d.want)
	}
	w.tally.Counts[Owing] = min(1, w.tally.Counts[Owed])
	for _, n := range w.nodes {
		if n.alive && n.caller.busy && n.calling.generator != nil && n.clock.Monotonic()-n.begun > p.MaxWait {
			w.breaks("waiting", "%s: a call still waits", n.calling.name)
		}
	}
}

// slack is the time that may pass besides windows and loss: a process is started again,
// its claim looks at each worker id, backs off in between, and may be given up
// and made anew.
func (w *world) slack() time.Duration {
	p := w.plan
	return p.Window/4 + 2*p.timeout() + 100*time.Millisecond
}

// unpaid returns the first unpaid debt, at its lesser size in debts and now.
func unpaid(debts, now []debt) (first debt, is bool) {
	for i, d := range debts {
		if d.want = min(d.want, now[i].want); d.living() < d.want {
			return d, true
		}
	}
	return debt{}, false
}

func (d debt) living() (n int) {
	for _, node := range d.nodes {
		if node.living {
			n++
		}
	}
	return n
}

// debts computes from the registers which nodes must issue within two windows from begun.
func (w *world) debts(begun time.Duration) []debt {
	p := w.plan
	var debts []debt
	groups := max(1, p.Pins, p.Datacenters)
	for g := range groups {
		d := debt{what: "the pool"}
		low, high := int64(0), p.Layout.Workers()
		switch {
		case p.Pins > 0:
			d.what, low, high = fmt.Sprintf("the group pinned to worker %d", g), int64(g), int64(g)+1
		case p.Datacenters > 0:
			bits := p.Layout.Bits(snowfence.Worker)
			d.what, low, high = fmt.Sprintf("datacenter %d", g), int64(g)<<bits, int64(g+1)<<bits
		}
		for _, n := range w.nodes {
			if n.as%groups == g && !n.apart() {
				d.nodes = append(d.nodes, n)
			}
		}
		if len(d.nodes) > 0 {
			server := d.nodes[0].server
			d.want = min(int(server.claimable(low, high, begun)), server.owed(d.nodes))
		}
		debts = append(debts, d)
	}
	return debts
}

// fits reports whether the node has the namespace's layout, if there is one.
func (s *server) fits(n *node) bool {
	return s.record.Layout == "" || s.record.Layout == n.site().Layout.String()
}

// owed returns how many of the nodes may expect ids of the namespace.
func (s *server) owed(nodes []*node) int {
	founded := s.record.Layout != ""
	if !founded && s.w.plan.Misfits > 0 {
		return 0 // either layout may found it
	}
	owed, daemons := 0, 0
	for _, n := range nodes {
		if s.fits(n) && (!n.alive || n.holder == nil || n.holder.holds(s.record.Incarnation)) {
			owed++
			if !n.borrows {
				daemons++
			}
		}
	}
	if daemons == 0 {
		return 0 // a borrower needs a daemon
	}
	return owed
}

// claimable returns how many of the worker numbers in [low, high) can be claimed
// within a window from begun, by a right clock, or belong to nodes that issue.
func (s *server) claimable(low, high int64, begun time.Duration) int64 {
	p, layout := s.w.plan, s.w.plan.Layout
	record := s.record
	if record.Layout != "" && record.Layout != layout.String() {
		layout = misfit(layout) // its founder's, whose horizon counts
	}
	if layout.TickAt(s.w.begin.Add(begun+3*p.Window+p.Loss+s.w.slack())) >= layout.HorizonTick() {
		return 0
	}
	n := high - low
	for _, key := range s.keys {
		r, ok := s.registers[key]
		worker, known := stored.WorkerOf(stored.DefaultNamespace, layout, key)
		if !ok || !known || worker < low || worker >= high || s.w.issues(r.Holder) {
			continue
		}
		if record.Judge(r, layout, s.w.begin.Add(begun+p.Window), p.MaxRollback) != stored.Free {
			n--
		}
	}
	return n
}

// issues reports whether a node issues under the nonce.
func (w *world) issues(nonce string) bool {
	for _, n := range w.nodes {
		if by := n.issuer(); n.alive && n.living && !n.apart() && by != nil && by.nonce == nonce {
			return true
		}
	}
	return false
}

// apart reports whether the machine is owed nothing: a borrower takes any worker id, also one that others are pinned to.
func (n *node) apart() bool { return n.borrows && n.w.plan.Pins > 0 }
