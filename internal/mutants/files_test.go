package mutants

const sources = "cmd/snowfence/forensics/source/"

// files lists bugs that misread a path or a file of ids.
var files = []mutant{
	{
		name: "storeurl: ~ is a folder of that name",
		file: "internal/storeurl/literal.go",
		old:  "return cmp.Or(checkHome(path), CheckReferences",
		new:  "return cmp.Or(CheckReferences",
		test: "TestPathThatIsHardlyMeantIsRefused",
	},
	{
		name: "config: a path with a variable in it is taken literally",
		file: "daemon/config/load.go",
		old:  "err = cmp.Or(err, storeurl.CheckFolder(path)); err != nil",
		new:  "_ = storeurl.CheckFolder; err != nil",
		test: "TestPathIsExpandedOrRefusedNeverTakenLiterally",
	},
	{
		name: "config: ~/ is not the home directory",
		file: "daemon/engine/expand.go",
		old:  "return filepath.Join(home, rest), nil",
		new:  "return filepath.Join(\"/\", rest), nil",
		in:   "daemon/config",
		test: "TestPathIsExpandedOrRefusedNeverTakenLiterally",
	},
	{
		name: "filestore: options in a path are a part of its name",
		file: "store/filestore/open.go",
		old:  "if strings.Contains(path, \"?\") {",
		new:  "if false {",
		in:   "daemon/config",
		test: "TestPathIsExpandedOrRefusedNeverTakenLiterally",
	},
	{
		name: "source: a row that is shorter or longer is read",
		file: sources + "csv.go",
		old:  "case len(record) != t.fields:",
		new:  "case len(record) > 1<<30:",
		test: "TestWhatIsNotUnderstoodWholeIsRefused",
	},
	{
		name: "source: a line end of another program hides rows",
		file: sources + "csv.go",
		old:  "case within(endsLine):",
		new:  "case false:",
		test: "TestWhatIsNotUnderstoodWholeIsRefused",
	},
	{
		name: "source: ids behind a comment are left out",
		file: sources + "file.go",
		old:  "text[0] == '#' && !bytes.ContainsFunc(text, endsLine)",
		new:  "text[0] == '#'",
		test: "TestWhatIsNotUnderstoodWholeIsRefused",
	},
	{
		name: "source: a word is hex",
		file: sources + "reader.go",
		old:  "readings, err := decode.Readings(string(text), r.encoding)",
		new:  "readings, err := decode.Readings(string(text), r.encoding)\n\tif r.encoding == \"\" {\n\t\treadings, err = decode.Read(string(text))\n\t}",
		test: "TestWhatIsNotUnderstoodWholeIsRefused",
	},
	{
		name: "source: rounded ids are not known",
		file: sources + "rounding.go",
		old:  "case r.decimal.rounded():",
		new:  "case false:",
		test: "TestRoundedIDsAreKnown",
	},
	{
		name: "source: ids with a sequence that is always 0 are called rounded",
		file: sources + "rounding.go",
		old:  " && l.odd*leastRounded >= l.alike",
		new:  "",
		test: "TestRoundedIDsAreKnown",
	},
	{
		name: "check: rounded ids are called copies",
		file: "cmd/snowfence/forensics/check/judge.go",
		old:  "switch said := j.rounded(s.sources); {",
		new:  "switch said := j.rounded(s.sources)[:0]; {",
		test: "TestRoundedIDsAreNamedBeforeAnyAdviceToDelete",
	},
	{
		name: "check: fewer ids than lines are all distinct",
		file: "cmd/snowfence/forensics/check/tally.go",
		old:  "r.Complete = r.IDs > 0 && r.Invalid == 0 &&",
		new:  "r.Complete =",
		test: "TestAnswerIsCompleteOnlyWithEveryID",
	},
	{
		name: "merge: a side without ids does not clash",
		file: "cmd/snowfence/forensics/merge/report.go",
		old:  "if side.HasData && side.IDs == 0 {",
		new:  "if side.HasData && side.IDs == 1 {",
		test: "TestSideWithoutIDsOrWithSkippedOnesIsUnknown",
	},
}
