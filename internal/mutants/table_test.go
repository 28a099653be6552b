package mutants

// table lists bugs that tests of their own package find. A new one needs a line here and nothing else.
var table = places{
	"internal/lease/drive/certain.go": {
		"drive: an operator's write is certain though its confirmation fails": {
			old:  "if err := confirm(ctx); err != nil {",
			new:  "if err := confirm(ctx); err != nil && until.IsZero() {",
			in:   "counter",
			test: "TestCounterThatIsSaidToBeSetGivesNoNumberTwice",
		},
	},
	"internal/roster/certain.go": {
		"roster: a mark is confirmed though another operator wrote since": {
			old:  "err == nil && w.version != k.version",
			new:  "err != nil && w.version != k.version",
			test: "TestMarkThatOthersWriteOverIsConfirmedAnew",
		},
		"roster: a mark that is there, and can still be lost, counts as certain": {
			old:  "!written && !d.r.Losable(after)",
			new:  "!written",
			test: "TestWriteThatIsSaidToBeDoneIsNotLost",
		},
		"roster: a claim that the store can lose makes a floor certain": {
			old:  "case now.Term != then.Term, now.Floor != then.Floor, claimed",
			new:  "case claimed && now.Holder == \"\"",
			test: "TestFloorIsUncertainIfItsWorkerIDIsClaimedMeanwhile",
		},
		"roster: a write is certain though its namespace was replaced": {
			old:  "if err := d.r.unchanged(ctx); err != nil {",
			new:  "if err := d.r.unchanged(ctx); err != nil && ctx.Err() != nil {",
			test: "TestWriteIsUncertainIfItsNamespaceIsReplacedMeanwhile",
		},
	},
	"internal/journal/end.go": {
		"journal: a page is discarded, and the folder is not synced": {
			old:  "Stamp{}\n\treturn j.wrap(j.disk.Sync(\".\"))\n",
			new:  "Stamp{}\n\treturn nil\n",
			test: "TestFailureAtAnyStepEndsTheUseAndWhatIsDiscardedIsGone",
		},
		"journal: a page that somebody else took is discarded with success": {
			old:  "if err := j.still(*f); err != nil {\n",
			new:  "if err := j.still(*f); err != nil && !errors.Is(err, ErrReplaced) {\n",
			test: "TestFileThatWasReplacedEndsTheUse",
		},
		"journal: a page that is taken between two steps of its discard is discarded with success": {
			old:  "return j.replaced(name, err)\n",
			new:  "_ = name\n",
			test: "TestTwoOwnersAtEveryStepNeverBothSucceed",
		},
		"journal: Keep finds that somebody else took the page, and Discard forgets it": {
			old:  "case errors.Is(j.failed, ErrReplaced):\n\t\treturn j.failed\n",
			new:  "case errors.Is(j.failed, ErrReplaced):\n\t\treturn nil\n",
			test: "TestFileThatWasReplacedEndsTheUse",
		},
	},
	"internal/journal/journal.go": {
		"journal: a page is kept in files that are not there any more": {
			old:  "return j.same()\n",
			new:  "return nil\n",
			test: "TestFileThatWasReplacedEndsTheUse",
		},
		"journal: a failed fsync is not remembered": {
			old:  "if err := j.keep(string(page)); err != nil {\n\t\t\tj.failed = err\n",
			new:  "if err := j.keep(string(page)); err != nil {\n\t\t\treturn fmt.Errorf(\"%w: %w\", ErrFailed, err)\n",
			test: "TestFailureAtAnyStepEndsTheUseAndWhatIsDiscardedIsGone",
		},
		"journal: a network file system is not refused": {
			old:  "if system.Network {\n",
			new:  "if false {\n",
			test: "TestNetworkFileSystemIsRefusedUntouched",
		},
	},
	"internal/lease/resume.go": {
		"lease: the open write of a journal counts as sent when the term is resumed": {
			old:  "sent: acked, //",
			new:  "sent: x.now.Monotonic, //",
			test: "TestResumedOpenWriteOfALossyStoreConfirmsNothing",
		},
	},
	"internal/lease/journal.go": {
		"lease: a page has the age of another bound than its register's": {
			old:  "if b.until == page.Register.Until {",
			new:  "if b == s.term.pending[0] {",
			test: "TestResumedOpenWriteOfALossyStoreConfirmsNothing",
		},
	},
	"internal/lease/term.go": {
		"lease: a resumed bound that needs a moment more is not waited for": {
			old:  "next-x.now.Monotonic-x.third() <= gain",
			new:  "gain < 0",
			test: "TestResumedBoundOfALossyStoreIsConfirmedAtItsAge",
		},
	},
	"generator.go": {
		"generator: sealed in two steps": {
			old:  "next := g.state.Or(sealed)\n",
			new:  "next := g.state.Load()\n\tg.state.Store(next | sealed)\n",
			test: "TestRevocationCountsWhatIsTakenJustBeforeTheSeal",
		},
		"generator: what was reserved is read before the seal": {
			old:  "\tnext := g.state.Or(sealed)\n\tg.reserved = g.above(next)\n",
			new:  "\tg.reserved = g.above(g.state.Load())\n\tg.state.Or(sealed)\n",
			test: "TestRevocationCountsWhatIsTakenJustBeforeTheSeal",
		},
		"generator: what was reserved is one tick too low": {
			old:  "Tick((next-1)>>g.seqBits)+1",
			new:  "Tick(next>>g.seqBits)",
			test: "TestEveryRuleHoldsInRandomRuns",
		},
		"generator: the lane's bound leaves out the window": {
			old:  "slot-first < g.ahead && slot < gate",
			new:  "slot-first < g.ahead",
			test: "TestNoCallGetsPastAWindowThatEndsWithinTheBurst",
		},
		"generator: the lane goes one slot past the window": {
			old:  "slot-first < g.ahead && slot < gate",
			new:  "slot-first < g.ahead && slot <= gate",
			test: "TestNoCallGetsPastAWindowThatEndsWithinTheBurst",
		},
		"generator: a worker that was not given is worker 0": {
			old:  "return fmt.Errorf(\"snowfence: generator: worker is not given",
			new:  "cfg.Worker = new(int64)\n\t\t_ = fmt.Errorf(\"snowfence: generator: worker is not given",
			test: "TestGeneratorWithoutWorkerOrWindowIsRefused",
		},
	},
	"queue.go": {
		"generator: the queue leaves out the window": {
			old:  "bound := min(uint64(g.until)<<g.seqBits, now<<g.seqBits+g.ahead)",
			new:  "bound := now<<g.seqBits + g.ahead",
			test: "TestNoCallGetsPastAWindowThatEndsWithinTheBurst",
		},
	},
	"wideid.go": {
		"wide: the highest bit of the sequence is left out": {
			old:  "s.sequence.times(slot & g.mask)",
			new:  "s.sequence.times(slot & (g.mask >> 1))",
			test: "TestConcurrentCallersNeverShareAWideID",
		},
		"wide: the worker is left out": {
			old:  "l.join(prefix)",
			new:  "l.join(Parts{})",
			test: "TestWideIDsCarryTheTickAndTheWorker",
		},
		"wide: random bits reach into the other fields": {
			old:  "g.rand() & s.mask",
			new:  "g.rand()",
			test: "TestWideIDsCarryTheTickAndTheWorker",
		},
		"wide: a batch takes slots whatever the bound": {
			old:  "slot, ok := g.reserve(uint64(len(ids))); ok",
			new:  "slot := g.state.Add(uint64(len(ids))) - uint64(len(ids)); slot < sealed",
			test: "TestNoWideCallGetsPastAWindowThatEnds",
		},
		"wide: UUIDs of other versions are read": {
			old:  "value != want && foreign == 0 {",
			new:  "value != want && f.Kind != Version && foreign == 0 {",
			test: "TestForeignUUIDsAreNotReadAsOurs",
		},
		"wide: a value above its field is composed": {
			old:  "if err := l.check(p); err != nil {",
			new:  "if err := l.check(p); err != nil && p.Tick < 0 {",
			test: "TestHorizonOfAWideLayoutFitsTheGenerator",
		},
	},
	"daemon/internal/respfront/command.go": {
		"respfront: an INCR is minted when it is queued": {
			old:  "c.open == nil && c.silence",
			new:  "c.silence",
			test: "TestTransactionIsAnsweredAsInRedis",
		},
	},
	"daemon/internal/respfront/ids.go": {
		"respfront: INCRs after a skipped one have no replies either": {
			old:  "for c.silence != silentNow && bytes",
			new:  "for bytes",
			test: "TestTransactionIsAnsweredAsInRedis",
		},
	},
	"daemon/internal/respfront/transaction.go": {
		"respfront: the bytes of a transaction stay taken after EXEC": {
			old:  "c.memory.Give(cap(t.text))",
			new:  "_ = data",
			test: "TestTransactionIsAnsweredAsInRedis",
		},
	},
	"client/link.go": {
		"client: an answer with fewer ids than were asked for is taken": {
			old:  "if left > 0 {",
			new:  "if left == int64(n) {",
			test: "TestAnswerOfFewerOrMoreIDsThanWereAskedForIsRefused",
		},
	},
	"client/servers.go": {
		"client: the last id of one server is strictly taken from another": {
			old:  "s.config.Strict && first <= s.last",
			new:  "s.config.Strict && first < s.last",
			test: "TestStrictClientRefusesEqualAndLowerIDsOfAnotherServer",
		},
		"client: a connection is used again after a timeout": {
			old:  "if l := of.link; l != nil {",
			new:  "if l := of.link; l != nil && !errors.As(err, new(net.Error)) {",
			test: "TestLateAnswerIsNeverReadAsTheAnswerOfALaterRequest",
		},
	},
	"opaque/sealed.go": {
		"opaque: half of the tag is compared": {
			old:  "block[1] == s.tag &&",
			new:  "uint32(block[1]) == uint32(s.tag) &&",
			test: "TestSealedBlockWithAnyOtherTagIsRefused",
		},
	},
	"internal/lease/judge.go": {
		"lease: a write that a failover brings back is taken for a later one": {
			old:  "later := s.term > before.term || s.term == before.term && s.clock.After(before.clock)\n",
			new:  "later := true\n",
			test: "TestWriteThatAFailoverBringsBackSaysNothingOfClocks",
		},
	},
	"internal/lease/outage.go": {
		"lease: a read that shows that the store took no write counts as a good answer": {
			old:  "case undone && o.Unanswered != nil:\n\t\to.read = true\n\t\treturn\n",
			new:  "case undone && err != nil:\n\t\to.read = true\n\t\treturn\n",
			test: "TestStoreThatTakesNoWritesIsReportedThoughItAnswersReads",
		},
	},
	"internal/lease/drive/recall.go": {
		"drive: a journal's page of another store is resumed from": {
			old:  "case p == nil || p.Store == name && name != \"\":",
			new:  "case p == nil || p.Store != \"\" && name != \"\":",
			in:   "fence",
			test: "TestPageIsResumedFromOnItsOwnStoreOnly",
		},
		"drive: a journal's page that names no store is resumed from": {
			old:  "case p == nil || p.Store == name && name != \"\":",
			new:  "case p == nil || p.Store == name || p.Store == \"\":",
			in:   "internal/journal",
			test: "TestJournalOfAnEarlierVersionIsReadAndCostsNoStart",
		},
	},
	"internal/lease/end.go": {
		"lease: the loss of a term is reported before its generator is revoked": {
			old:  "x.out = append(x.out, Revoke{Cause: cause},\n\t\t\tReport{What: Lost, Err: cause, Worker: s.term.worker, Term: s.term.register.Term})",
			new:  "x.out = append(x.out,\n\t\t\tReport{What: Lost, Err: cause, Worker: s.term.worker, Term: s.term.register.Term}, Revoke{Cause: cause})",
			test: "TestTermIsRevokedBeforeItsLossIsReported",
		},
	},
	"internal/lease/drive/line.go": {
		"drive: a new call does not end the call before it": {
			old:  "\tl.Drop()\n\tctx, cancel",
			new:  "\tctx, cancel",
			test: "TestNewCallEndsTheCallBeforeIt",
		},
	},
	"internal/lease/drive/disk.go": {
		"drive: a request to a journal does not wait for the request before it": {
			old:  "\t\t<-previous\n\t\tevent",
			new:  "\t\tevent",
			in:   "fence",
			test: "TestJournalIsAskedForOneThingAtATime",
		},
	},
	"fence/status.go": {
		"fence: a new term or window wakes no waiting call": {
			old:  "\t\tclose(l.changed)\n",
			new:  "",
			test: "TestHolderThatWasStoppedPastItsWindowIssuesUnderANewTermOnly",
		},
	},
}.mutants("", "")

// beside lists bugs that tests on real servers find.
var beside = places{
	"store/sqlstore/statement.go": {
		"sqlstore: a swap does not compare the settings of its session": {
			old:  "fit + \"$5::pg_catalog.text\"",
			new:  "\"$5::pg_catalog.text IS NOT NULL\"",
			in:   "daemon/internal/sqltest",
			test: "TestSessionThatAnotherClientChangedAcknowledgesNothing",
		},
	},
	"store/sqlstore/session.go": {
		"sqlstore: the kind of an altered table is not judged": {
			old:  "err = s.judgeKind(kind)\n",
			new:  "_ = kind\n",
			in:   "daemon/internal/sqltest",
			test: "TestTableThatIsAlteredLaterIsRefused",
		},
		"sqlstore: the table is named without the schema that was found": {
			old:  "s.table.schema = schema\n",
			new:  "_ = schema\n",
			in:   "daemon/internal/sqltest",
			test: "TestSessionThatAnotherClientChangedAcknowledgesNothing",
		},
	},
	"daemon/internal/respfront/transaction.go": {
		"respfront: a refused command spoils no transaction": {
			old:  "c.open.spoiled = true",
			new:  "_ = c.open.spoiled",
			test: "TestRepliesAreAsManyAndOfTheKindsOfRedis",
		},
	},
	"daemon/internal/respfront/command.go": {
		"respfront: a transaction keeps an unknown subcommand": {
			old:  "case known == nil:",
			new:  "case known == nil && queued:\n\t\tc.queue(&c.table[0])\n\tcase known == nil:",
			test: "TestRepliesAreAsManyAndOfTheKindsOfRedis",
		},
	},
}.mutants("", "")
