package mutants

const journal = "fence/journal/journal.go"

// table lists the bugs. A new one needs a line here and nothing else.
var table = []mutant{
	{
		name: "journal: files are removed, and their folder is not synced",
		file: journal,
		old:  "return j.wrap(j.disk.sync())\n",
		new:  "return nil\n",
		test: "TestFailureAtAnyStepEndsTheUseAndWhatIsDiscardedIsGone",
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
}
