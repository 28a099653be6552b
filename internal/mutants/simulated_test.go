package mutants

const (
	driver = "internal/lease/drive/drive.go"
	asking = "internal/lease/drive/ask.go"
	outage = "internal/lease/outage.go"
)

// simulated lists bugs in the lease's driver and in how outages are judged. The
// simulation finds them: it runs the same driver.
var simulated = inSimulation([]mutant{
	{
		name: "drive: an unanswered swap is taken for a conflict",
		file: asking,
		old:  "case errors.Is(err, store.ErrConflict):",
		new:  "case err != nil:",
	},
	{
		name: "drive: a conflict is taken for an acknowledgement",
		file: asking,
		old:  "Outcome: lease.Conflict}",
		new:  "Outcome: lease.Swapped, Version: version}",
	},
	{
		name: "drive: a list's error is swallowed",
		file: asking,
		old:  "return lease.Reply{Err: err, Entries: reply.Entries}",
		new:  "return reply",
	},
	{
		name: "drive: a read that failed is taken for an absent register",
		file: asking,
		old:  "case errors.Is(err, store.ErrNotFound):",
		new:  "case err != nil:",
	},
	{
		name: "drive: the error of the engine's clock is swallowed",
		file: asking,
		old:  "now, err := clock.Now(ctx)\n",
		new:  "now, err := clock.Now(ctx)\n\t\terr = nil\n",
	},
	{
		name: "drive: an answer that comes while there are no random bits is lost",
		file: driver,
		old:  "if idle || !passing {",
		new:  "if idle || passing {",
	},
	{
		name: "drive: the events are lost when there are no random bits",
		file: driver,
		old:  "d.step(lease.Looked{Err: err}, now)\n",
		new:  "d.step(lease.Looked{Err: err}, now)\n\t\t\td.events = nil\n",
	},
	{
		name: "drive: two events of one call are taken with the same random bits",
		file: driver,
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
	{
		name: "drive: the state does not hear that there are no random bits",
		file: driver,
		old:  "d.step(lease.Looked{Err: err}, now)\n",
		new:  "",
	},
	{
		name: "drive: what the clock is found to be is told at each look",
		file: driver,
		old:  "else if d.clockLost == nil || *d.clockLost != finding {",
		new:  "else {",
	},
	{
		name: "drive: nobody looks at the generator after an extension",
		file: driver,
		old:  "d.extend(r)\n",
		new:  "d.extend(r)\n\t\treturn false\n",
	},
	{
		name: "drive: nobody looks after a revocation",
		file: driver,
		old:  "d.seal(r.Cause)\n",
		new:  "d.seal(r.Cause)\n\t\treturn false\n",
	},
	{
		name: "drive: a generator begins at no floor",
		file: driver,
		old:  "Floor: r.Floor, ",
		new:  "",
	},
	{
		name: "drive: the reserved tick is told one too low",
		file: driver,
		old:  "reserved = d.generator.Revoke(cause)\n",
		new:  "reserved = d.generator.Revoke(cause) - 1\n",
	},
	{
		name: "drive: a generator is let go and not sealed",
		file: driver,
		old:  "reserved = d.generator.Revoke(cause)\n",
		new:  "reserved = d.generator.Status().Reserved\n",
	},
	{
		name: "outage: it begins again at each step",
		file: outage,
		old:  "if o.Supply < Failing {",
		new:  "if o.Supply <= Failing {",
	},
	{
		name: "outage: a pinned holder waits for its clock and a pool does not",
		file: outage,
		old:  "x.Worker != nil",
		new:  "x.Worker == nil",
	},
	{
		name: "outage: nobody looks at the generator in its course",
		file: outage,
		old:  "o.lookAt(x, now+lookAgain)",
		new:  "_ = lookAgain",
	},
	{
		name: "outage: the end of the window is looked for from time zero",
		file: outage,
		old:  "o.lookAt(x, now+x.now.Generator.Left)",
		new:  "o.lookAt(x, x.now.Generator.Left)",
	},
	{
		name: "outage: nobody looks when the window ends",
		file: outage,
		old:  "\t\to.lookAt(x, now+x.now.Generator.Left)\n",
		new:  "",
	},
	{
		name: "outage: a release is reported as one",
		file: outage,
		old:  "if s.releasing || o.Supply == Unopened",
		new:  "if o.Supply == Unopened",
	},
	{
		name: "outage: the wait for the first term is reported as one",
		file: outage,
		old:  "s.releasing || o.Supply == Unopened && !s.term.started",
		new:  "s.releasing",
	},
	{
		name: "outage: what else is known is lost",
		file: outage,
		old:  "return fmt.Errorf(\"%w: %w\", reason, more)\n",
		new:  "_ = more\n\treturn reason\n",
	},
	{
		name: "outage: the reason is the first one for ever",
		file: outage,
		old:  "\to.Reason, o.Final = s.because(x, reason), s.phase == Failed\n",
		new:  "\tif o.Final = s.phase == Failed; o.Reason == nil {\n\t\to.Reason = s.because(x, reason)\n\t}\n",
	},
	{
		name: "outage: it is judged before the generator is extended",
		file: outage,
		old:  "case Start, Extend, Revoke:",
		new:  "case Start, Revoke:",
	},
	{
		name: "outage: it is reported at each step",
		file: outage,
		old:  "\t\to.Supply = Refusing\n",
		new:  "",
	},
	{
		name: "outage: its end is reported, and it was not",
		file: outage,
		old:  "if o.Supply == Refusing {",
		new:  "if o.Supply >= Failing {",
	},
	{
		name: "outage: it lasted since the last look",
		file: outage,
		old:  "For: now - o.Since}",
		new:  "For: now - o.look}",
	},
	{
		name: "outage: each is counted as the end of a window",
		file: outage,
		old:  "if errors.Is(reason, snowfence.ErrWindowEnded) {",
		new:  "if reason != nil {",
	},
	{
		name: "outage: it is counted when it is not reported",
		file: outage,
		old:  "o.Supply, o.Since = Failing, now\n",
		new:  "o.Supply, o.Since = Failing, now\n\t\to.Outages++\n",
	},
	{
		name: "outage: a look that is over stays due after a release",
		file: outage,
		old:  "o.looking = false\n",
		new:  "",
	},
})

// inSimulation has the simulation find the bugs.
func inSimulation(all []mutant) []mutant {
	for i := range all {
		all[i].in, all[i].test = "internal/sim", "TestDrawnPlansBreakNoRule"
	}
	return all
}
