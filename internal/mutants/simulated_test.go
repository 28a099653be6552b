package mutants

// simulated lists bugs in the lease's driver and in how outages are judged. The
// simulation finds them: it runs the same driver.
var simulated = places{
	"internal/lease/drive/ask.go": {
		"drive: an unanswered swap is taken for a conflict": {
			old: "case errors.Is(err, store.ErrConflict):",
			new: "case err != nil:",
		},
		"drive: a conflict is taken for an acknowledgement": {
			old: "Outcome: lease.Conflict}",
			new: "Outcome: lease.Swapped, Version: version}",
		},
		"drive: a list's error is swallowed": {
			old: "return lease.Reply{Err: err, Entries: reply.Entries}",
			new: "return reply",
		},
		"drive: a read that failed is taken for an absent register": {
			old: "case errors.Is(err, store.ErrNotFound):",
			new: "case err != nil:",
		},
		"drive: the error of the engine's clock is swallowed": {
			old: "now, err := clock.Now(ctx)\n",
			new: "now, err := clock.Now(ctx)\n\t\terr = nil\n",
		},
	},
	"internal/lease/drive/drive.go": {
		"drive: an answer that comes while there are no random bits is lost": {
			old: "if idle || !passing {",
			new: "if idle || passing {",
		},
		"drive: the events are lost when there are no random bits": {
			old: "d.step(lease.Looked{Err: err}, now)\n",
			new: "d.step(lease.Looked{Err: err}, now)\n\t\t\td.events = nil\n",
		},
		"drive: two events of one call are taken with the same random bits": {
			old: `	for len(d.events) > 0 {
		now := lease.Moment{}
		if err := d.shell.Random(now.Random[:]); err != nil {
			d.step(lease.Looked{Err: err}, now)
			return err
		}
`,
			new: `	now := lease.Moment{}
	if err := d.shell.Random(now.Random[:]); err != nil {
		d.step(lease.Looked{Err: err}, now)
		return err
	}
	for len(d.events) > 0 {
`,
		},
		"drive: the state does not hear that there are no random bits": {
			old: "d.step(lease.Looked{Err: err}, now)\n",
			new: "",
		},
		"drive: what the clock is found to be is told at each look": {
			old: "else if d.clockLost == nil || *d.clockLost != finding {",
			new: "else {",
		},
		"drive: nobody looks at the generator after an extension": {
			old: "d.extend(r)\n",
			new: "d.extend(r)\n\t\treturn false\n",
		},
		"drive: nobody looks after a revocation": {
			old: "d.seal(r.Cause)\n",
			new: "d.seal(r.Cause)\n\t\treturn false\n",
		},
		"drive: a generator begins at no floor": {
			old: "Floor: r.Floor, ",
			new: "",
		},
		"drive: the reserved tick is told one too low": {
			old: "reserved = d.generator.Revoke(cause)\n",
			new: "reserved = d.generator.Revoke(cause) - 1\n",
		},
		"drive: a generator is let go and not sealed": {
			old: "reserved = d.generator.Revoke(cause)\n",
			new: "reserved = d.generator.Status().Reserved\n",
		},
	},
	"internal/lease/outage.go": {
		"outage: it begins again at each step": {
			old: "if o.Supply < Failing {",
			new: "if o.Supply <= Failing {",
		},
		"outage: a pinned holder waits for its clock and a pool does not": {
			old: "x.Worker != nil",
			new: "x.Worker == nil",
		},
		"outage: nobody looks at the generator in its course": {
			old: "o.lookAt(x, now+lookAgain)",
			new: "_ = lookAgain",
		},
		"outage: the end of the window is looked for from time zero": {
			old: "o.lookAt(x, now+x.now.Generator.Left)",
			new: "o.lookAt(x, x.now.Generator.Left)",
		},
		"outage: nobody looks when the window ends": {
			old: "\t\to.lookAt(x, now+x.now.Generator.Left)\n",
			new: "",
		},
		"outage: a release is reported as one": {
			old: "if s.releasing || o.Supply == Unopened",
			new: "if o.Supply == Unopened",
		},
		"outage: the wait for the first term is reported as one": {
			old: "s.releasing || o.Supply == Unopened && !s.term.started",
			new: "s.releasing",
		},
		"outage: what else is known is lost": {
			old: "return fmt.Errorf(\"%w: %w\", reason, more)\n",
			new: "_ = more\n\treturn reason\n",
		},
		"outage: the reason is the first one for ever": {
			old: "\to.Reason, o.Final = s.because(x, reason), s.phase == Failed\n",
			new: "\tif o.Final = s.phase == Failed; o.Reason == nil {\n\t\to.Reason = s.because(x, reason)\n\t}\n",
		},
		"outage: it is judged before the generator is extended": {
			old: "case Start, Extend, Revoke:",
			new: "case Start, Revoke:",
		},
		"outage: it is reported at each step": {
			old: "\t\to.Supply = Refusing\n",
			new: "",
		},
		"outage: its end is reported, and it was not": {
			old: "if o.Supply == Refusing {",
			new: "if o.Supply >= Failing {",
		},
		"outage: it lasted since the last look": {
			old: "For: now - o.Since}",
			new: "For: now - o.look}",
		},
		"outage: each is counted as the end of a window": {
			old: "if errors.Is(reason, snowfence.ErrWindowEnded) {",
			new: "if reason != nil {",
		},
		"outage: it is counted when it is not reported": {
			old: "o.Supply, o.Since = Failing, now\n",
			new: "o.Supply, o.Since = Failing, now\n\t\to.Outages++\n",
		},
		"outage: a look that is over stays due after a release": {
			old: "o.looking = false\n",
			new: "",
		},
	},
}.mutants("internal/sim", "TestDrawnPlansBreakNoRule")
