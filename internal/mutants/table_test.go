package mutants

const (
	journal = "fence/journal/journal.go"
	discard = "fence/journal/discard.go"
)

// table lists the bugs. A new one needs a line here and nothing else.
var table = []mutant{
	{
		name: "journal: a page is discarded, and the folder is not synced",
		file: discard,
		old:  "stamp{}\n\treturn j.wrap(j.disk.sync())\n",
		new:  "stamp{}\n\treturn nil\n",
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
		name: "filestore: the mark is read before the register",
		file: "store/filestore/store.go",
		old: `	e, err := s.read(key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.Entry{}, s.unlessClosed(err)
	}
	m, markErr := s.lock.readMark()
`,
		new: `	m, markErr := s.lock.readMark()
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
}
