package mutants

// gapless lists bugs in series. Their rules, on real servers of both dialects, find them.
var gapless = places{
	"counter/series/sql.go": {
		"series: its row is not locked": {
			old:  `next_number FROM " + series + same + " FOR UPDATE"`,
			new:  `next_number FROM " + series + same`,
			test: "TestSeriesHasOneWriterAtATime",
		},
		"series: a number is read from the transaction's snapshot": {
			old:  `" AND number = ? FOR UPDATE"`,
			new:  `" AND number = ?"`,
			test: "TestSeriesGivesNoNumberTwiceAtAnyIsolation",
		},
		"series: a number that is void is offered again": {
			old:  "state = 'reserved' AND (expires_at",
			new:  "state <> 'confirmed' AND (expires_at",
			test: "TestSeriesNumberThatEndedNeverChanges",
		},
		"series: a number is offered until its reservation times out": {
			old:  "(expires_at <= ? OR token = ?)",
			new:  "(expires_at > ? OR token = ?)",
			test: "TestSeriesOffersTimedOutNumbersInOrder",
		},
		"series: a call that tries again takes another number": {
			old:  "(expires_at <= ? OR token = ?)",
			new:  "(expires_at <= ? AND token <> ?)",
			test: "TestSeriesLosesNothingByALostReply",
		},
		"series: a commit is not synced in a session that another client changed": {
			old:  "engine := own,",
			new:  `engine := strings.Replace(own, "'off'", "'never'", 1),`,
			test: "TestSeriesLastsInASessionThatAnotherClientChanged",
		},
		"series: a session's own search path decides which tables are meant": {
			old:  "engine := own,",
			new:  `engine := strings.Replace(own, "set_config('search_path'", "set_config('application_name'", 1),`,
			test: "TestSeriesLastsInASessionThatAnotherClientChanged",
		},
	},
	"counter/series/series.go": {
		"series: a reservation is ended with any token": {
			old:  "case subtle.ConstantTimeCompare([]byte(owner), []byte(hash)) == 0:",
			new:  "case subtle.ConstantTimeCompare([]byte(owner), []byte(hash)) == 2:",
			test: "TestSeriesNumberThatEndedNeverChanges",
		},
		"series: a reservation that has timed out is confirmed": {
			old:  "case until <= now:",
			new:  "case until <= 0:",
			test: "TestSeriesOffersTimedOutNumbersInOrder",
		},
	},
}.mutants("daemon/internal/sqltest", "")
