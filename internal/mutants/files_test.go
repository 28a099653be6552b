package mutants

// files lists bugs that misread a path or a file of ids.
var files = places{
	"internal/storeurl/literal.go": {
		"storeurl: ~ is a folder of that name": {
			old:  "return cmp.Or(checkHome(path), CheckReferences",
			new:  "return cmp.Or(CheckReferences",
			test: "TestPathThatIsHardlyMeantIsRefused",
		},
	},
	"daemon/config/load.go": {
		"config: a path with a variable in it is taken literally": {
			old:  "err = cmp.Or(err, storeurl.CheckFolder(path)); err != nil",
			new:  "_ = storeurl.CheckFolder; err != nil",
			test: "TestPathIsExpandedOrRefusedNeverTakenLiterally",
		},
	},
	"daemon/engine/expand.go": {
		"config: ~/ is not the home directory": {
			old:  "return filepath.Join(home, rest), nil",
			new:  "return filepath.Join(\"/\", rest), nil",
			in:   "daemon/config",
			test: "TestPathIsExpandedOrRefusedNeverTakenLiterally",
		},
	},
	"store/filestore/open.go": {
		"filestore: options in a path are a part of its name": {
			old:  "if strings.Contains(path, \"?\") {",
			new:  "if false {",
			in:   "daemon/config",
			test: "TestPathIsExpandedOrRefusedNeverTakenLiterally",
		},
	},
	"cmd/snowfence/forensics/source/csv.go": {
		"source: a row that is shorter or longer is read": {
			old:  "case len(record) != t.fields:",
			new:  "case len(record) > 1<<30:",
			test: "TestWhatIsNotUnderstoodWholeIsRefused",
		},
		"source: a line end of another program hides rows": {
			old:  "case within(endsLine):",
			new:  "case false:",
			test: "TestWhatIsNotUnderstoodWholeIsRefused",
		},
	},
	"cmd/snowfence/forensics/source/file.go": {
		"source: ids behind a comment are left out": {
			old:  "text[0] == '#' && !bytes.ContainsFunc(text, endsLine)",
			new:  "text[0] == '#'",
			test: "TestWhatIsNotUnderstoodWholeIsRefused",
		},
	},
	"cmd/snowfence/forensics/source/reader.go": {
		"source: a word is hex": {
			old:  "id, as, err := decode.Read(string(text), r.encoding)",
			new:  "id, as, err := decode.Read(string(text), r.encoding)\n\tif r.encoding == \"\" && err != nil {\n\t\tid, _, err = decode.Read(string(text), decode.Hex)\n\t\tas = decode.Decimal\n\t}",
			test: "TestWhatIsNotUnderstoodWholeIsRefused",
		},
	},
	"cmd/snowfence/forensics/source/rounding.go": {
		"source: rounded ids are not known": {
			old:  "case r.decimal.rounded():",
			new:  "case false:",
			test: "TestRoundedIDsAreKnown",
		},
		"source: ids with a sequence that is always 0 are called rounded": {
			old:  " && l.odd*leastRounded >= l.alike",
			new:  "",
			test: "TestRoundedIDsAreKnown",
		},
	},
	"cmd/snowfence/forensics/check/judge.go": {
		"check: rounded ids are called copies": {
			old:  "switch said := j.rounded(s.sources); {",
			new:  "switch said := j.rounded(s.sources)[:0]; {",
			test: "TestRoundedIDsAreNamedBeforeAnyAdviceToDelete",
		},
	},
	"cmd/snowfence/forensics/check/tally.go": {
		"check: fewer ids than lines are all distinct": {
			old:  "return s.IDs == 0 ||",
			new:  "return",
			test: "TestAnswerIsCompleteOnlyWithEveryID",
		},
	},
	"cmd/snowfence/forensics/merge/report.go": {
		"merge: a side without ids does not clash": {
			old:  "if side.HasData && side.IDs == 0 {",
			new:  "if side.HasData && side.IDs == 1 {",
			test: "TestSideWithoutIDsOrWithRoundedOnesIsUnknown",
		},
	},
}.mutants("", "")
