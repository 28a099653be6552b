package trace

import (
	"cmp"
	"slices"
)

// This file is the node's part of the model.

// send is a claim, an extension or a release. The same bytes again are no step: the wire has them already.
func (m *Model) send(s Step, n *node, r *register) (refused string) {
	if w := m.writes[s.Write]; w != nil {
		if w.register != r || w.guard != s.Guard || w.until != s.Until {
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
	n.open = &write{kind: s.Kind, register: r, guard: s.Guard, until: s.Until, term: n.term}
	m.writes[s.Write] = n.open
	return refused
}

// claim begins a term. A node whose generator has not begun gives its term up without a step. Other nodes
// forget theirs first.
func (n *node) claim(s Step, r *register) string {
	e := r.versions[s.Guard]
	switch {
	case n.given > 0 || n.sealed:
		return "claims: ver[i] == 0"
	case e == nil: // the register never showed it
		return "claims: e = cur;"
	case s.Floor < e.until:
		return "claims: select(t : FLOOR_FROM(e) .. TICKS - 1)"
	case s.Until <= s.Floor:
		return "claims: (t > until[e] -> t : until[e]) + 1"
	}
	n.forget()
	n.register, n.term, n.nxt = r, &term{floor: s.Floor, node: n}, s.Floor
	r.terms = append(r.terms, n.term)
	return ""
}

// extend swaps the version that was acknowledged last. The bounds that are older than loss now can't be lost any more.
func (m *Model) extend(s Step, n *node, r *register) string {
	switch {
	case n.ver == "" || n.register != r:
		return "extends: ver[i] != 0"
	case n.open != nil || n.sealed:
		return "extends: open[i] == 0 && !sealed[i]"
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
	case n.ver == "" || n.register != r:
		return "releases: ver[i] != 0"
	case n.open != nil:
		return "releases: open[i] == 0"
	case s.Guard != n.ver:
		return "releases: send(RELEASE, ver[i], u)"
	case s.Until < min(n.nxt, v.until):
		return "releases: u = RELEASED;"
	case s.Until > v.until:
		return "releases: u = (u < until[ver[i]] -> u : until[ver[i]])"
	case s.Until < v.until:
		n.term.lowered = true
	}
	return ""
}

// seal is SEAL of mutants.pml.
func (n *node) seal() { n.sealed, n.use, n.given, n.pend, n.aged = true, 0, 0, nil, nil }

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

// begin gives a bound to the generator, which begins at the floor of its first bound.
func (n *node) begin(s Step) string {
	switch {
	case n.term == nil || s.Until > n.use:
		return "grant: until[b] > use[i] -> use[i] = until[b]"
	case s.Floor > 0 && s.Floor < n.nxt:
		return "claims: nxt[i] = t;"
	}
	n.given, n.term.given = s.Until, max(n.term.given, s.Until)
	return ""
}

// stamp is the generator. It may stamp its last tick again, with other sequences.
func (n *node) stamp(s Step, r *register) string {
	switch {
	case n.register != r || n.given == 0:
		return "stamps: CAN_STAMP"
	case s.Until > n.given:
		return "stamps: LAST_STAMP"
	case s.Until <= s.Floor || s.Floor < n.nxt && s.Floor != n.last:
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
	v, w := r.versions[s.Version], m.writes[s.Write]
	switch {
	case v == nil || v.term == nil || v.term.node != nil:
		return "journal: Each page is consumed once"
	case v.term.lowered:
		return "journal: The page is discarded before a release lowers until"
	case s.Floor < max(v.term.floor, v.term.given):
		return "journal: begins at its used"
	case s.Until > v.term.most:
		return "journal: stay below an until of the chain"
	case s.Write != "" && s.Bound < v.until:
		return "extends: select(u : until[ver[i]] .. TICKS)"
	case w != nil && (w.kind != Extend || w.register != r || w.guard != s.Version || w.until != s.Bound):
		return "journal: An extension is in the page before it is sent"
	}
	if w == nil && s.Write != "" { // the earlier process died before it sent the extension
		w = &write{kind: Extend, register: r, guard: s.Version, until: s.Bound, term: v.term}
		m.writes[s.Write] = w
	}
	*n = node{register: r, term: v.term, open: w, ver: s.Version, nxt: s.Floor, use: s.Until}
	n.term.node = n
	if v.until > s.Until {
		n.pend = []bound{{s.Version, v.until, s.Clock}}
	}
	return ""
}
