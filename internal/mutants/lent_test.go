package mutants

// lent lists bugs of lending, in daemons and in borrowers. The simulation finds all but the two that name a test: a loss
// takes a failover between two tries of which the first is answered last, and no borrower there makes a lease from
// entries of the store.
var lent = places{
	"internal/lend/exchange.go": {
		"lend: the guard is whatever version shows the lease's holder": {
			old: "case holds && reply.Entry.Version == x.lease.Version:\n\t\treturn x.swap(r, x.lease.Version)",
			new: "case holds && r.Write != x.mark:\n\t\treturn x.swap(r, reply.Entry.Version)",
		},
		"lend: the bound of an answer is the one that this try would have written": {
			old: "\t\tx.register, x.version = r, reply.Entry.Version\n",
			new: "\t\tx.version = reply.Entry.Version\n\t\tx.register, _ = x.change(r)\n",
		},
		"lend: any register with the lease's holder counts as this extension's": {
			old: "case r.Write == x.mark && (holds",
			new: "case holds && !x.release || r.Write == x.mark && (holds",
		},
		"lend: a release may go below the floor": {
			old: "return r.Released(*x.next), stored.RefuseIf(*x.next < r.Floor || *x.next > r.Until, \"next\", *x.next, limit)",
			new: "if r.Holder, r.Until = \"\", *x.next; r.Until == r.Floor {\n\t\tr.Until, r.Floor = r.Until-1, r.Floor-1\n\t}\n\treturn r, stored.RefuseIf(*x.next > r.Until+1, \"next\", *x.next, limit)",
		},
		"lend: the version alone is the key to a lease": {
			old:  "case holds && reply.Entry.Version == x.lease.Version:",
			new:  "case reply.Entry.Version == x.lease.Version:",
			test: "TestReaderOfTheStoreCannotMakeALease",
		},
	},
	"internal/sim/lending.go": {
		"lend: a claim is given back when the borrower hangs up after the answer was sent": {
			old: "\tif q.left() && chance(n.lends, 80) {\n\t\tn.giveBack(a, q)\n\t\treturn\n\t}\n\treply(answer{Answer: a})\n",
			new: "\treply(answer{Answer: a})\n\tn.soon(3*n.w.plan.latency(), func() {\n\t\tif q.left() {\n\t\t\tn.giveBack(a, q)\n\t\t}\n\t})\n",
		},
	},
	"internal/lend/held.go": {
		"lend: a release names the last tick that was stamped": {
			old: "return h.tick + 1\n",
			new: "return h.tick\n",
		},
		"lend: the bound itself is stamped": {
			old: "if tick >= h.usable {",
			new: "if tick > h.usable {",
		},
		"lend: a bound of a lossy store is usable at once": {
			old: "if h.loss == 0 {",
			new: "if h.loss >= 0 {",
		},
		"lend: the loss counts up to the last try of an extension": {
			old:  "\tif !h.asking {\n\t\th.asking, h.sent = true, now\n\t}\n",
			new:  "\th.asking, h.sent = true, now\n",
			test: "TestBoundOfALossyStoreIsUsableWhenALaterExtensionConfirmsIt",
		},
	},
	"internal/sim/borrower.go": {
		"lend: the mark of an answer is not compared": {
			old: "case q.verb == extending && a.Mark == q.Mark:",
			new: "case q.verb == extending:",
		},
		"borrower: a forked child goes on with its parent's lease": {
			old: "if b.owner != b.pid() {",
			new: "if b.owner == 0 {",
		},
		"borrower: a forked child releases its parent's lease": {
			old: "\t\tb.drop(0)\n\t\tb.owner = b.pid()\n",
			new: "\t\tif b.owner = b.pid(); b.held != nil {\n\t\t\tb.release(b.site.Moment())\n\t\t\treturn\n\t\t}\n\t\tb.drop(0)\n",
		},
		"borrower: the release is sent before minting stops": {
			old: "\tb.by = nil\n\tb.ask(",
			new: "\tb.ask(",
		},
	},
	"internal/lease/state.go": {
		"lend: a claim makes the record that is absent": {
			old: "= c.Lent.Known, true, c.Lent.Ahead",
			new: "= c.Lent.Known, false, c.Lent.Ahead",
		},
	},
}.mutants("internal/sim", "TestDrawnPlansBreakNoRule")
