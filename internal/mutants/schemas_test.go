package mutants

import "cmp"

const (
	leaf    = "counter/leafalloc/source.go"
	tinyid  = "counter/tinyid/source.go"
	tickets = "counter/flickr/source.go"
	dated   = "counter/rediscount/source.go"
)

// schemas lists bugs on other systems' tables and keys. Tests on real servers find them.
var schemas = served([]mutant{
	{
		name: "leafalloc: the range is as long as the table's step, whatever was added",
		file: leaf,
		old:  "First: now.max - amount, Increment: 1, Count: amount",
		new:  "First: now.max - now.step, Increment: 1, Count: now.step + 0*amount",
		test: "TestLeafRangeIsTheStepOrAMultiple",
	},
	{
		name: "leafalloc: a range whose commit failed is used",
		file: "internal/sqlsession/session.go",
		old:  "return tx.Commit()",
		new:  "_ = tx.Commit()\n\t\treturn ctx.Err()",
		test: "TestLostReplyOfACommitIsAGap",
	},
	{
		name: "leafalloc: a row that went back is reserved from",
		file: leaf,
		old:  "now.max-amount < known.max {",
		new:  "now.max-amount < 0 {",
		test: "TestRemedyOfASystemEndsItsError",
	},
	{
		name: "leafalloc: numbers are reserved in a session whose commits are not synced",
		file: "internal/sqlsession/session.go",
		old:  "case text == \"off\":",
		new:  "case text == \"never\":",
		test: "TestNumbersAreNotReservedInASessionWhoseCommitsCanBeLost",
	},
	{
		name: "tinyid: a swap that changed no row counts",
		file: tinyid,
		old:  "err != nil || changed != 1 {",
		new:  "err != nil || changed > 1 {",
		test: "TestTinyidSwapThatOthersPreventIsTriedBoundedly",
	},
	{
		name: "tinyid: the swap does not compare",
		file: tinyid,
		old:  "fill.Replace(read), fill.Replace(swap)",
		new:  "fill.Replace(read), strings.ReplaceAll(fill.Replace(swap), \"=? and\", \">=? and\")",
		test: "TestTinyidSwapThatOthersPreventIsTriedBoundedly",
	},
	{
		name: "tinyid: the old max_id is reserved once more",
		file: tinyid,
		old:  "first := r.max + 1\n",
		new:  "first := r.max\n",
		test: "TestTinyidRangeHasTheNumbersOfTheRemainder",
	},
	{
		name: "tinyid: a max_id that the column cut is not noticed",
		file: tinyid,
		old:  "if now, err = s.scan(tx.QueryRowContext(ctx, s.read, s.config.BizType)); err == nil {",
		new:  "if now = was; true {\n\t\tnow.max = next",
		test: "TestColumnThatIsTooNarrowRepeatsNoNumber",
	},
	{
		name: "leafalloc: a max_id that the column cut is not noticed",
		file: leaf,
		old:  "now-amount != old",
		new:  "now-amount > old",
		test: "TestColumnThatIsTooNarrowRepeatsNoNumber",
	},
	{
		name: "flickr: a server that fails is not skipped",
		file: tickets,
		old:  "case now < sv.until:",
		new:  "case now < sv.until-s.config.Skip:",
		test: "TestTicketServerThatDiesIsSkippedAndTakenBack",
	},
	{
		name: "flickr: a number of another server's class is given",
		file: tickets,
		old:  "case number%increment != offset%increment:",
		new:  "case number%increment > increment:",
		test: "TestTicketThatMayHaveBeenGivenBeforeIsRefusedWithItsServer",
	},
	{
		name: "flickr: a number is given that the server gave before",
		file: tickets,
		old:  "case number <= last:",
		new:  "case number < 0:",
		test: "TestRemedyOfASystemEndsItsError",
	},
	{
		name: "flickr: a connection that keeps an old increment is used",
		file: "counter/flickr/config.go",
		old:  "@@global.auto_increment_increment = %d",
		new:  "@@global.auto_increment_increment > %d - 1",
		test: "TestTicketServerWhoseIncrementChangedIsRefused",
	},
	{
		name: "flickr: a server whose replicas run the statement is accepted",
		file: "counter/flickr/config.go",
		old:  "RefuseIf(s.statements != 0,",
		new:  "RefuseIf(s.statements > 1,",
		test: "TestTicketServersThatCouldGiveOneNumberTwiceAreRefused",
	},
	{
		name: "flickr: a statement is sent though replicas run it",
		file: "counter/flickr/config.go",
		old:  " AND NOT \"+logged+\", 'a', NULL))\"",
		new:  ", 'a', NULL))\"",
		test: "TestTicketServersThatCouldGiveOneNumberTwiceAreRefused",
	},
	{
		name: "flickr: two servers of one class are accepted",
		file: "counter/flickr/config.go",
		old:  "RefuseIf(s.offset == other.offset,",
		new:  "RefuseIf(s.offset < 0,",
		test: "TestTicketServersThatCouldGiveOneNumberTwiceAreRefused",
	},
	{
		name: "rediscount: the sequence grows into the next day",
		file: dated,
		old:  "text(min(max(n, 1), s.base-1)), text(s.base-1)",
		new:  "text(min(max(n, 1), s.base-1)), text(2*s.base)",
		test: "TestDatedSequenceNeverOutgrowsItsLength",
	},
	{
		name: "rediscount: a date is accepted after its key has expired",
		file: dated,
		old:  "text(until.Unix())",
		new:  "text(until.Add(1e4*margin).Unix())",
		test: "TestDateWhoseKeyMayHaveExpiredIsRefused",
	},
	{
		name: "rediscount: yesterday's key expires",
		file: dated,
		old:  "now.Add(-s.config.Keep).Date()",
		new:  "now.Date()",
		test: "TestDatedKeyExpiresOnlyWhenItsDateIsRefused",
	},
	{
		name: "rediscount: a date is that of the midnight before",
		file: dated,
		old:  "name := now.Format(dateForm)",
		new:  "y, m, d := now.Date()\n\tname := time.Date(y, m, d, 0, 0, 0, 0, now.Location()).Format(dateForm)",
		in:   "counter/rediscount",
		test: "TestDateIsThatOfTheInstantAtEachChangeOfEachZone",
	},
	{
		name: "rediscount: a key that went back is counted on",
		file: dated,
		old:  "case last/s.base == date && first <= last:",
		new:  "case last/s.base == date && first < 0:",
		test: "TestRemedyOfASystemEndsItsError",
	},
})

func served(mutants []mutant) []mutant {
	for i := range mutants {
		mutants[i].in = cmp.Or(mutants[i].in, "daemon/internal/sqltest")
	}
	return mutants
}
