package mutants

const (
	numbers    = "counter/series/series.go"
	statements = "counter/series/sql.go"
)

// gapless lists bugs in series. Their rules, on real servers of both dialects, find them.
var gapless = ruled([]mutant{
	{
		name: "series: its row is not locked",
		file: statements,
		old:  `next_number FROM " + series + same + " FOR UPDATE"`,
		new:  `next_number FROM " + series + same`,
		test: "TestSeriesHasOneWriterAtATime",
	},
	{
		name: "series: a number is read from the transaction's snapshot",
		file: statements,
		old:  `" AND number = ? FOR UPDATE"`,
		new:  `" AND number = ?"`,
		test: "TestSeriesGivesNoNumberTwiceAtAnyIsolation",
	},
	{
		name: "series: a number that is void is offered again",
		file: statements,
		old:  "state = 'reserved' AND (expires_at",
		new:  "state <> 'confirmed' AND (expires_at",
		test: "TestSeriesNumberThatEndedNeverChanges",
	},
	{
		name: "series: a number is offered until its reservation times out",
		file: statements,
		old:  "(expires_at <= ? OR token = ?)",
		new:  "(expires_at > ? OR token = ?)",
		test: "TestSeriesOffersTimedOutNumbersInOrder",
	},
	{
		name: "series: a call that tries again takes another number",
		file: statements,
		old:  "(expires_at <= ? OR token = ?)",
		new:  "(expires_at <= ? AND token <> ?)",
		test: "TestSeriesLosesNothingByALostReply",
	},
	{
		name: "series: a reservation is ended with any token",
		file: numbers,
		old:  "case subtle.ConstantTimeCompare([]byte(owner), []byte(hash)) == 0:",
		new:  "case subtle.ConstantTimeCompare([]byte(owner), []byte(hash)) == 2:",
		test: "TestSeriesNumberThatEndedNeverChanges",
	},
	{
		name: "series: a reservation that has timed out is confirmed",
		file: numbers,
		old:  "case until <= now:",
		new:  "case until <= 0:",
		test: "TestSeriesOffersTimedOutNumbersInOrder",
	},
	{
		name: "series: a commit is not synced in a session that another client changed",
		file: statements,
		old:  "engine := own,",
		new:  `engine := strings.Replace(own, "'off'", "'never'", 1),`,
		test: "TestSeriesLastsInASessionThatAnotherClientChanged",
	},
	{
		name: "series: a session's own search path decides which tables are meant",
		file: statements,
		old:  "engine := own,",
		new:  `engine := strings.Replace(own, "set_config('search_path'", "set_config('application_name'", 1),`,
		test: "TestSeriesLastsInASessionThatAnotherClientChanged",
	},
})

func ruled(mutants []mutant) []mutant {
	for i := range mutants {
		mutants[i].in = "daemon/internal/sqltest"
	}
	return mutants
}
