package mutants

// schemas lists bugs on other systems' tables and keys. Tests on real servers find them.
var schemas = places{
	"counter/leafalloc/source.go": {
		"leafalloc: the range is as long as the table's step, whatever was added": {
			old:  "First: now.max - amount, Increment: 1, Count: amount",
			new:  "First: now.max - now.step, Increment: 1, Count: now.step + 0*amount",
			test: "TestLeafRangeIsTheStepOrAMultiple",
		},
		"leafalloc: a row that went back is reserved from": {
			old:  "now.max-amount < known.max {",
			new:  "now.max-amount < 0 {",
			test: "TestRemedyOfASystemEndsItsError",
		},
		"leafalloc: a max_id that the column cut is not noticed": {
			old:  "now-amount != old",
			new:  "now-amount > old",
			test: "TestColumnThatIsTooNarrowRepeatsNoNumber",
		},
	},
	"internal/sqlsession/session.go": {
		"leafalloc: a range whose commit failed is used": {
			old:  "return tx.Commit()",
			new:  "_ = tx.Commit()\n\t\treturn ctx.Err()",
			test: "TestLostReplyOfACommitIsAGap",
		},
		"leafalloc: numbers are reserved in a session whose commits are not synced": {
			old:  "case text == \"off\":",
			new:  "case text == \"never\":",
			test: "TestNumbersAreNotReservedInASessionWhoseCommitsCanBeLost",
		},
	},
	"counter/tinyid/source.go": {
		"tinyid: a swap that changed no row counts": {
			old:  "err != nil || changed != 1 {",
			new:  "err != nil || changed > 1 {",
			test: "TestTinyidSwapThatOthersPreventIsTriedBoundedly",
		},
		"tinyid: the swap does not compare": {
			old:  "fill.Replace(read), fill.Replace(swap)",
			new:  "fill.Replace(read), strings.ReplaceAll(fill.Replace(swap), \"=? and\", \">=? and\")",
			test: "TestTinyidSwapThatOthersPreventIsTriedBoundedly",
		},
		"tinyid: the old max_id is reserved once more": {
			old:  "first := r.max + 1\n",
			new:  "first := r.max\n",
			test: "TestTinyidRangeHasTheNumbersOfTheRemainder",
		},
		"tinyid: a max_id that the column cut is not noticed": {
			old:  "if now, err = s.scan(tx.QueryRowContext(ctx, s.read, s.config.BizType)); err == nil {",
			new:  "if now = was; true {\n\t\tnow.max = next",
			test: "TestColumnThatIsTooNarrowRepeatsNoNumber",
		},
	},
	"counter/flickr/source.go": {
		"flickr: a server that fails is not skipped": {
			old:  "case now < sv.until:",
			new:  "case now < sv.until-s.config.Skip:",
			test: "TestTicketServerThatDiesIsSkippedAndTakenBack",
		},
		"flickr: a number of another server's class is given": {
			old:  "case number%increment != offset%increment:",
			new:  "case number%increment > increment:",
			test: "TestTicketThatMayHaveBeenGivenBeforeIsRefusedWithItsServer",
		},
		"flickr: a number is given that the server gave before": {
			old:  "case number <= last:",
			new:  "case number < 0:",
			test: "TestRemedyOfASystemEndsItsError",
		},
	},
	"counter/flickr/config.go": {
		"flickr: a connection that keeps an old increment is used": {
			old:  "@@global.auto_increment_increment = %d",
			new:  "@@global.auto_increment_increment > %d - 1",
			test: "TestTicketServerWhoseIncrementChangedIsRefused",
		},
		"flickr: a server whose replicas run the statement is accepted": {
			old:  "RefuseIf(s.statements != 0,",
			new:  "RefuseIf(s.statements > 1,",
			test: "TestTicketServersThatCouldGiveOneNumberTwiceAreRefused",
		},
		"flickr: a statement is sent though replicas run it": {
			old:  " AND NOT \"+logged+\", 'a', NULL))\"",
			new:  ", 'a', NULL))\"",
			test: "TestTicketServersThatCouldGiveOneNumberTwiceAreRefused",
		},
		"flickr: two servers of one class are accepted": {
			old:  "RefuseIf(s.offset == other.offset,",
			new:  "RefuseIf(s.offset < 0,",
			test: "TestTicketServersThatCouldGiveOneNumberTwiceAreRefused",
		},
	},
	"counter/rediscount/source.go": {
		"rediscount: the sequence grows into the next day": {
			old:  "text(min(max(n, 1), s.base-1)), text(s.base-1)",
			new:  "text(min(max(n, 1), s.base-1)), text(2*s.base)",
			test: "TestDatedSequenceNeverOutgrowsItsLength",
		},
		"rediscount: a date is accepted after its key has expired": {
			old:  "text(until.Unix())",
			new:  "text(until.Add(1e4*margin).Unix())",
			test: "TestDateWhoseKeyMayHaveExpiredIsRefused",
		},
		"rediscount: yesterday's key expires": {
			old:  "now.Add(-s.config.Keep).Date()",
			new:  "now.Date()",
			test: "TestDatedKeyExpiresOnlyWhenItsDateIsRefused",
		},
		"rediscount: a date is that of the midnight before": {
			old:  "name := now.Format(dateForm)",
			new:  "y, m, d := now.Date()\n\tname := time.Date(y, m, d, 0, 0, 0, 0, now.Location()).Format(dateForm)",
			in:   "counter/rediscount",
			test: "TestDateIsThatOfTheInstantAtEachChangeOfEachZone",
		},
		"rediscount: a key that went back is counted on": {
			old:  "case last/s.base == date && first <= last:",
			new:  "case last/s.base == date && first < 0:",
			test: "TestRemedyOfASystemEndsItsError",
		},
	},
}.mutants("daemon/internal/sqltest", "")
