package mutants

const (
	journal = "internal/journal/journal.go"
	discard = "internal/journal/end.go"
)

// table lists bugs that tests of their own package find. A new one needs a line here and nothing else.
var table = []mutant{
	{
		name: "journal: a page is discarded, and the folder is not synced",
		file: discard,
		old:  "Stamp{}\n\treturn j.wrap(j.disk.Sync())\n",
		new:  "Stamp{}\n\treturn nil\n",
		test: "TestFailureAtAnyStepEndsTheUseAndWhatIsDiscardedIsGone",
	},
	{
		name: "journal: a page that somebody else took is discarded with success",
		file: discard,
		old:  "if err := j.mine(parity); err != nil {\n",
		new:  "if err := j.mine(parity); err != nil && !errors.Is(err, ErrReplaced) {\n",
		test: "TestTwoHoldersOfOneJournalShareNoID",
	},
	{
		name: "journal: a page that is taken between two steps of its discard is discarded with success",
		file: discard,
		old:  "return j.replaced(name, err)\n",
		new:  "_ = name\n",
		test: "TestTwoOwnersAtEveryStepNeverBothSucceed",
	},
	{
		name: "journal: Keep finds that somebody else took the page, and Discard forgets it",
		file: discard,
		old:  "case errors.Is(j.failed, ErrReplaced):\n\t\treturn j.failed\n",
		new:  "case errors.Is(j.failed, ErrReplaced):\n\t\treturn nil\n",
		test: "TestTwoHoldersOfOneJournalShareNoID",
	},
	{
		name: "journal: a page is kept in files that are not there any more",
		file: journal,
		old:  "return j.same()\n",
		new:  "return nil\n",
		test: "TestFileThatWasReplacedEndsTheUse",
	},
	{
		name: "journal: a failed fsync is not remembered",
		file: journal,
		old:  "if err := j.keep(string(page)); err != nil {\n\t\t\tj.failed = err\n",
		new:  "if err := j.keep(string(page)); err != nil {\n\t\t\treturn fmt.Errorf(\"%w: %w\", ErrFailed, err)\n",
		test: "TestFailureAtAnyStepEndsTheUseAndWhatIsDiscardedIsGone",
	},
	{
		name: "sqlstore: a swap does not compare the settings of its session",
		file: "store/sqlstore/statement.go",
		old:  "fit(\"$5\")",
		new:  "\"$5::pg_catalog.text IS NOT NULL\"",
		in:   "cmd/snowfence/internal/engine",
		test: "TestSessionThatAnotherClientChangedAcknowledgesNothing",
	},
	{
		name: "sqlstore: the table is named without the schema that was found",
		file: "store/sqlstore/session.go",
		old:  "s.table.schema = schema\n",
		new:  "_ = schema\n",
		in:   "cmd/snowfence/internal/engine",
		test: "TestSessionThatAnotherClientChangedAcknowledgesNothing",
	},
	{
		name: "lease: the open write of a journal counts as sent when the term is resumed",
		file: "internal/lease/resume.go",
		old:  "sent: acked, //",
		new:  "sent: x.now.Monotonic, //",
		test: "TestResumedOpenWriteOfALossyStoreConfirmsNothing",
	},
	{
		name: "lease: a page has the age of another bound than its register's",
		file: "internal/lease/journal.go",
		old:  "if b.until == page.Register.Until {",
		new:  "if b == s.term.pending[0] {",
		test: "TestResumedOpenWriteOfALossyStoreConfirmsNothing",
	},
	{
		name: "lease: a resumed bound that needs a moment more is not waited for",
		file: "internal/lease/term.go",
		old:  "next-x.now.Monotonic-x.third() <= gain",
		new:  "gain < 0",
		test: "TestResumedBoundOfALossyStoreIsConfirmedAtItsAge",
	},
	{
		name: "filestore: the mark is read before the register",
		file: "store/filestore/store.go",
		old: `	e, err := s.read(key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.Entry{}, s.unlessClosed(err)
	}
	m, markErr := s.disk.readMark()
`,
		new: `	m, markErr := s.disk.readMark()
	e, err := s.read(key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.Entry{}, s.unlessClosed(err)
	}
`,
		test: "TestReadingBesideASwapOutlivesALossOfPower",
	},
	{
		name: "filestore: what a dead writer left is not synced",
		file: "store/filestore/swap.go",
		old:  "if err := s.syncFolder(at.folder()); err != nil {\n\t\t\treturn err\n\t\t}\n",
		new:  "",
		test: "TestKillOrPowerLossAtAnyStepLeavesOldOrNew",
	},
	{
		name: "journal: a network file system is not refused",
		file: journal,
		old:  "if system.Network {\n",
		new:  "if false {\n",
		test: "TestNetworkFileSystemIsRefusedUntouched",
	},
	{
		name: "generator: sealed in two steps",
		file: "window.go",
		old:  "next := g.state.Or(sealed)\n",
		new:  "next := g.state.Load()\n\tg.state.Store(next | sealed)\n",
		test: "TestRevocationCountsWhatIsTakenJustBeforeTheSeal",
	},
	{
		name: "generator: what was reserved is read before the seal",
		file: "window.go",
		old:  "\tnext := g.state.Or(sealed)\n\tg.reserved = g.above(next)\n",
		new:  "\tg.reserved = g.above(g.state.Load())\n\tg.state.Or(sealed)\n",
		test: "TestRevocationCountsWhatIsTakenJustBeforeTheSeal",
	},
	{
		name: "generator: what was reserved is one tick too low",
		file: "window.go",
		old:  "Tick((next-1)>>g.seqBits)+1",
		new:  "Tick(next>>g.seqBits)",
		test: "TestEveryRuleHoldsInRandomRuns",
	},
	{
		name: "generator: the cached clock's bound leaves out the window",
		file: "cachedclock.go",
		old:  "bound := g.bound(uint64(v.now)); next",
		new:  "bound := uint64(v.now)<<g.seqBits + g.ahead; next",
		test: "TestNoCallGetsPastAWindowThatEndsWithinTheBurst",
	},
	{
		name: "generator: the lane's bound leaves out the window",
		file: "generator.go",
		old:  "bound := min(g.gate.Load(), first+g.ahead)",
		new:  "bound := first + g.ahead",
		test: "TestNoCallGetsPastAWindowThatEndsWithinTheBurst",
	},
	{
		name: "generator: the lane goes one slot past the window",
		file: "generator.go",
		old:  "slot >= first && slot < bound",
		new:  "slot >= first && slot <= bound",
		test: "TestNoCallGetsPastAWindowThatEndsWithinTheBurst",
	},
	{
		name: "generator: the queue leaves out the window",
		file: "queue.go",
		old:  "bound := min(uint64(g.until)<<g.seqBits, now<<g.seqBits+g.ahead)",
		new:  "bound := now<<g.seqBits + g.ahead",
		test: "TestNoCallGetsPastAWindowThatEndsWithinTheBurst",
	},
	{
		name: "generator: a worker that was not given is worker 0",
		file: "generator.go",
		old:  "return nil, fmt.Errorf(\"snowfence: generator: worker is not given",
		new:  "cfg.Worker = new(int64)\n\t\t_ = fmt.Errorf(\"snowfence: generator: worker is not given",
		test: "TestGeneratorWithoutWorkerOrWindowIsRefused",
	},
	{
		name: "wide: the highest bit of the sequence is left out",
		file: "generator_wide.go",
		old:  "s.sequence.times(slot & g.mask)",
		new:  "s.sequence.times(slot & (g.mask >> 1))",
		test: "TestConcurrentCallersNeverShareAWideID",
	},
	{
		name: "wide: the worker is left out",
		file: "generator_wide.go",
		old:  "l.joinWide(prefix)",
		new:  "l.joinWide(Parts{})",
		test: "TestWideIDsCarryTheTickAndTheWorker",
	},
	{
		name: "wide: random bits reach into the other fields",
		file: "generator_wide.go",
		old:  "g.rand() & s.mask",
		new:  "g.rand()",
		test: "TestWideIDsCarryTheTickAndTheWorker",
	},
	{
		name: "wide: the lane's bound is not looked at",
		file: "generator_wide.go",
		old:  "slot >= first && slot < bound",
		new:  "slot >= first",
		test: "TestNoWideCallGetsPastAWindowThatEnds",
	},
	{
		name: "wide: the lane goes one slot past the window",
		file: "generator_wide.go",
		old:  "slot >= first && slot < bound",
		new:  "slot >= first && slot <= bound",
		test: "TestNoWideCallGetsPastAWindowThatEnds",
	},
	{
		name: "wide: a batch takes slots whatever the bound",
		file: "generator_wide.go",
		old:  "slot, ok := g.reserve(uint64(len(ids))); ok",
		new:  "slot := g.state.Add(uint64(len(ids))) - uint64(len(ids)); slot < sealed",
		test: "TestNoWideCallGetsPastAWindowThatEnds",
	},
	{
		name: "wide: UUIDs of other versions are read",
		file: "layout_wide.go",
		old:  "value != want {",
		new:  "value != want && f.Kind != Version {",
		test: "TestForeignUUIDsAreNotReadAsOurs",
	},
	{
		name: "wide: a value above its field is composed",
		file: "layout_wide.go",
		old:  "if err := l.check(p); err != nil {",
		new:  "if err := l.check(p); err != nil && p.Tick < 0 {",
		test: "TestHorizonOfAWideLayoutFitsTheGenerator",
	},
}
