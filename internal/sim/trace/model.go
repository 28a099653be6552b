package trace

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Model is the model of formal/lease.pml with the state that a trace has led it to.
type Model struct {
	loss      time.Duration // LOSSY, if it is not 0
	registers map[string]*register
	nodes     map[string]*node
	writes    map[string]*write // by their marks; all that is in the network, for ever
	taken     int               // counts the steps
}

// register is the store's entry of one worker id.
type register struct {
	cur, base string              // versions; empty before the first write
	versions  map[string]*version // all that ever were
	terms     []*term
}

// write is one swap of a register.
type write struct {
	kind         Kind
	guard        string
	until        int64
	took, stands bool
	term         *term
}

// version is an effect of a write. Bytes that take effect again after a failover make another version.
type version struct {
	*write
	prev       string
	lost, firm bool
}

// term is one claim, with the ticks that were stamped under it: [first, end), which is empty at first.
type term struct {
	first, end int64
	most       int64 // the greatest bound that was granted
	node       *node // that holds it; nil when it was forgotten
}

// node is the memory of a process: lease.State and its generator, in the words of lease.pml.
type node struct {
	register   *register
	term       *term
	open       *write
	ver        string // the version that was acknowledged last; empty without a term
	nxt, use   int64
	last       int64 // the last tick that it stamped; 0 for none
	sealed     bool
	pend, aged []bound // aged: the ones of pend that were old enough when the open write was sent
}

// bound is a bound that was acknowledged, and is not usable yet.
type bound struct {
	version string
	until   int64
	acked   time.Duration
}

// NewModel returns the model of stores that may lose acknowledged writes younger than loss; 0 is a durable store.
func NewModel(loss time.Duration) *Model {
	return &Model{loss: loss, registers: make(map[string]*register), nodes: make(map[string]*node), writes: make(map[string]*write)}
}

// Take takes the next step of the trace. An error is returned for a step that a guard of the model does not allow. It
// names the step, where the guard stands, and the guard's text in lease.pml, or of a journal in docs/proof.md. The
// model is of no use after it.
func (m *Model) Take(s Step) error {
	m.taken++
	if guard := m.take(s, m.node(s.Place), m.register(s.Register)); guard != "" {
		return fmt.Errorf("step %d, after %s: %s: refused by %s", m.taken, s.At, s, guard)
	}
	return nil
}

func (m *Model) node(name string) *node {
	if m.nodes[name] == nil {
		m.nodes[name] = &node{}
	}
	return m.nodes[name]
}

func (m *Model) register(name string) *register {
	if m.registers[name] == nil {
		none := &version{write: &write{}, firm: true} // that there is no register can't be lost
		m.registers[name] = &register{versions: map[string]*version{"": none}}
	}
	return m.registers[name]
}

// take returns the guard that refuses the step; empty if none does.
func (m *Model) take(s Step, n *node, r *register) string {
	switch s.Kind {
	case Claim, Extend, Release:
		return m.send(s, n, r)
	case Effect:
		return m.effect(s, r)
	case Failover:
		return r.failover(s.Version)
	case Acknowledged, Read:
		return m.landed(s, n)
	case Asked:
		n.seal()
	case Use:
		switch {
		case s.Until > n.use:
			return "grant: until[b] > use[i] -> use[i] = until[b]"
		case s.Floor > 0 && s.Floor < n.nxt:
			return "claims: nxt[i] = t;"
		}
	case Stamp:
		return n.stamp(s, r)
	case Forget:
		n.forget()
	case Resume:
		return m.resume(s, n, r)
	}
	return ""
}

// The store's part.

// effect is proctype Wire: a write takes effect.
func (m *Model) effect(s Step, r *register) string {
	w := m.writes[s.Write]
	switch {
	case w == nil:
		return "Wire: kind[w] != FREE"
	case w.stands:
		return "Wire: !stands[w]"
	case w.guard != r.cur:
		return "Wire: MATCHES(w)"
	case r.versions[s.Version] != nil: // no version is made twice
		return "Failover: STRIKE(w);"
	case w.until != s.Until:
		return "send: until[w] = u;"
	}
	r.versions[s.Version] = &version{write: w, prev: r.cur}
	r.cur, w.took, w.stands = s.Version, true, true
	if m.loss == 0 {
		r.settle(r.cur)
	}
	return ""
}

// settle: b, and all that it follows, can't be lost any more.
func (r *register) settle(b string) {
	v := r.versions[b]
	if v.lost || v.firm {
		return
	}
	r.base = b
	for ; !v.firm; v = r.versions[v.prev] {
		v.firm = true
	}
}

// failover is proctype Failover, as often as it takes until the register shows that version.
func (r *register) failover(shown string) string {
	for r.cur != shown {
		if r.cur == r.base {
			return "Failover: LOSABLE"
		}
		v := r.versions[r.cur]
		v.lost, v.stands = true, false
		r.cur = v.prev
	}
	return ""
}

// The node's part.

// send is a claim, an extension or a release. The same bytes again are no step: the wire has them already.
func (m *Model) send(s Step, n *node, r *register) (refused string) {
	if w := m.writes[s.Write]; w != nil {
		if w.guard != s.Guard || w.until != s.Until {
			return "send: kind[w] = k; guard[w] = g; until[w] = u;"
		}
		return ""
	}
	switch s.Kind {
	case Claim:
		refused = n.claim(s, r)
	case Extend:
		refused = m.extend(s, n, r)
	case Release:
		refused = n.release(s, r)
	}
	n.open = &write{kind: s.Kind, guard: s.Guard, until: s.Until, term: n.term}
	m.writes[s.Write] = n.open
	return refused
}

// claim begins a term. A node with another one has given it up, as it may at any time.
func (n *node) claim(s Step, r *register) string {
	e := r.versions[s.Guard]
	switch {
	case n.sealed:
		return "claims: ver[i] == 0 && open[i] == 0"
	case e == nil: // the register never showed it
		return "claims: e = cur;"
	case s.Floor < e.until:
		return "claims: select(t : FLOOR_FROM(e) .. TICKS - 1)"
	case s.Until <= s.Floor:
		return "claims: (t > until[e] -> t : until[e]) + 1"
	}
	n.forget()
	n.register, n.term, n.nxt = r, &term{node: n}, s.Floor
	r.terms = append(r.terms, n.term)
	return ""
}

// extend swaps the version that was acknowledged last. The bounds that are older than loss now can't be lost any more.
func (m *Model) extend(s Step, n *node, r *register) string {
	switch {
	case n.ver == "" || n.register != r || n.open != nil || n.sealed:
		return "extends: ver[i] != 0 && ver[i] != GONE && open[i] == 0 && !sealed[i]"
	case s.Guard != n.ver:
		return "extends: send(EXTEND, ver[i], u)"
	case s.Until < r.versions[n.ver].until:
		return "extends: select(u : until[ver[i]] .. TICKS)"
	}
	n.aged = nil
	for _, b := range n.pend {
		if b.acked+m.loss <= s.Clock {
			n.aged = append(n.aged, b)
			r.settle(b.version)
		}
	}
	return ""
}

// release brings until down, at most to the end of the stamped ticks.
func (n *node) release(s Step, r *register) string {
	n.seal()
	switch v := r.versions[n.ver]; {
	case n.ver == "" || n.register != r || n.open != nil:
		return "releases: ver[i] != 0 && ver[i] != GONE && open[i] == 0"
	case s.Guard != n.ver:
		return "releases: send(RELEASE, ver[i], u)"
	case s.Until < min(n.nxt, v.until):
		return "releases: u = RELEASED;"
	case s.Until > v.until:
		return "releases: u = (u < until[ver[i]] -> u : until[ver[i]])"
	}
	return ""
}

// seal is SEAL of mutants.pml.
func (n *node) seal() { n.sealed, n.use, n.pend, n.aged = true, 0, nil, nil }

// landed is the step in which a node learns that its write took effect. A write that it has given up makes nothing usable.
func (m *Model) landed(s Step, n *node) string {
	w := m.writes[s.Write]
	switch {
	case w == nil || !w.took:
		return "is acknowledged: open[i] != 0 && took[open[i]]"
	case n.open != w:
		return ""
	case n.register.versions[s.Version] == nil || n.register.versions[s.Version].write != w:
		return "landed: VERSION_STANDS(w) -> w"
	}
	n.open, n.ver = nil, s.Version
	switch {
	case w.kind == Release:
		n.forget()
	case !n.sealed:
		return m.acknowledge(s, n, w)
	}
	return ""
}

// acknowledge makes bounds usable by the acknowledgement of w.
func (m *Model) acknowledge(s Step, n *node, w *write) (refused string) {
	landed := bound{s.Version, w.until, s.Clock}
	if m.loss == 0 {
		return n.grant(landed)
	}
	z := w.until
	var pend []bound
	for _, b := range n.pend {
		switch {
		case slices.Contains(n.aged, b):
			refused = cmp.Or(refused, n.grant(b))
			continue
		case b.until >= w.until:
			z = 0 // known before
		}
		pend = append(pend, b)
	}
	if z > n.use && !n.register.versions[n.ver].lost {
		pend = append(pend, landed)
	}
	n.pend, n.aged = pend, nil
	return refused
}

// grant gives a bound to the generator. It must be one that the store keeps.
func (n *node) grant(b bound) string {
	if !n.register.versions[b.version].firm {
		return "grant: assert(firm[b])"
	}
	n.use = max(n.use, b.until)
	n.term.most = max(n.term.most, n.use)
	return ""
}

// stamp is the generator. It may stamp its last tick again, with other sequences.
func (n *node) stamp(s Step, r *register) string {
	switch {
	case n.register != r || n.use == 0:
		return "stamps: CAN_STAMP"
	case s.Until > n.use:
		return "stamps: LAST_STAMP"
	case s.Floor < n.nxt && s.Floor != n.last:
		return "stamps: select(t : nxt[i] .. LAST_STAMP)"
	}
	for _, t := range r.terms {
		if t != n.term && s.Floor < t.end && t.first < s.Until {
			return "stamps: assert(who == i + 1)"
		}
	}
	if n.term.end == 0 {
		n.term.first = s.Floor
	}
	n.term.end, n.nxt, n.last = s.Until, s.Until, s.Until-1
	return ""
}

// forget is a crash, a lost term, and everything else after which a node begins again.
func (n *node) forget() {
	if n.term != nil {
		n.term.node = nil
	}
	*n = node{}
}

// resume goes on with the term of a page. No line of the model has it: its guards stand in docs/proof.md.
func (m *Model) resume(s Step, n *node, r *register) string {
	v := r.versions[s.Version]
	switch {
	case v == nil || v.term == nil || v.term.node != nil:
		return "journal: Each page is consumed once"
	case s.Floor < v.term.end:
		return "journal: begins at its used"
	case s.Until > v.term.most:
		return "journal: stay below an until of the chain"
	}
	*n = node{register: r, term: v.term, ver: s.Version, nxt: s.Floor, use: s.Until}
	n.term.node = n
	if v.until > s.Until {
		n.pend = []bound{{s.Version, v.until, s.Clock}}
	}
	if s.Write == "" {
		return ""
	}
	if m.writes[s.Write] == nil { // the earlier process died before it sent the extension
		m.writes[s.Write] = &write{kind: Extend, guard: s.Version, until: s.Bound, term: n.term}
	}
	n.open = m.writes[s.Write]
	return ""
}
