package trace

import (
	"fmt"
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
	register     *register
	guard        string
	until        int64
	term         *term
	took, stands bool
}

// version is an effect of a write. Bytes that take effect again after a failover make another version.
type version struct {
	*write
	prev       string
	lost, firm bool
}

// term is one claim, with the ticks that were stamped under it: [first, end), which is empty at first.
type term struct {
	floor      int64
	first, end int64
	most       int64 // the greatest bound that was granted
	given      int64 // the greatest bound that a generator was given; with a journal it may be lower
	lowered    bool  // a release was sent that lowers until
	node       *node // that holds it; nil when it was forgotten
}

// node is the memory of a process: lease.State and its generator, in the words of lease.pml.
type node struct {
	register   *register
	term       *term
	open       *write
	ver        string // the version that was acknowledged last; empty without a term
	nxt, use   int64
	given      int64 // the generator's bound, at most use; 0 before it begins
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
		return n.begin(s)
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
	case w.register != r || w.guard != r.cur:
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
