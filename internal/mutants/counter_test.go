package mutants

// counted lists bugs in counters. Drawn schedules find them.
var counted = places{
	"counter/register.go": {
		"counter: a range of a lossy store is used before it is confirmed": {
			old: "if err == nil && l.loss > 0 {",
			new: "if err == nil && l.loss > time.Hour {",
		},
		"counter: numbers are given back though others were reserved after them": {
			old: "back.Last()+back.Increment == c.Lanes[i].Next",
			new: "back.Last() < c.Lanes[i].Next",
		},
		"counter: numbers are given back again when it is not known that they were": {
			old:  "\t\tsent = true\n",
			new:  "",
			in:   "counter",
			test: "TestNumbersAreGivenBackOnce",
		},
		"counter: a process forgets what it has reserved when it gives numbers back after a rollback": {
			old:  "if c.Lanes[i].Next == next || l.used[l.name] >= next {",
			new:  "if c.Lanes[i].Next == next {",
			in:   "counter",
			test: "TestMarkIsKeptWhenTheRestOfADateIsGivenBackAfterARollback",
		},
		"counter: a store that went back by one number gives it again": {
			old:  "next <= max(mark, own) {",
			new:  "next < max(mark, own) {",
			in:   "counter",
			test: "TestCounterThatWentBackByOneNumberIsRefused",
		},
		"counter: the guard is raised from the last number of a range on": {
			old:  "l.guard.raise(ctx, got.First, got.Last())",
			new:  "l.guard.raise(ctx, got.Last(), got.Last())",
			in:   "counter",
			test: "TestNumberIsGivenByOneProcessThoughAnotherRaisesTheGuardLate",
		},
		"counter: an early date is begun again": {
			old: "full := len(c.Lanes) == lanesKept\n",
			new: "full := len(c.Lanes) >= lanesKept && i > 0\n",
		},
	},
	"counter/confirm.go": {
		"counter: it is confirmed by a write that was sent too early": {
			old: "w.acked+r.loss-r.Clock.Monotonic()",
			new: "w.acked-r.Clock.Monotonic()",
		},
		"counter: a confirmation does not look at the history": {
			old: "return other.Effect == w.effect })",
			new: "return true })",
		},
		"counter: a write is sent though it has no place to wait for its confirmation": {
			old:  "\tif i < 0 {\n\t\treturn fmt.Errorf(\"counter %s: %d",
			new:  "\tif i = max(i, 0); i < 0 {\n\t\treturn fmt.Errorf(\"counter %s: %d",
			in:   "counter",
			test: "TestProcessesBeyondTheLimitWaitForTheirTurn",
		},
		"counter: a write that is confirmed keeps its place": {
			old:  "\t\tc.Waiting = slices.Delete(c.Waiting, i, i+1) // if",
			new:  "\t\t// if",
			in:   "counter",
			test: "TestFleetOfALossyStoreGrowsWithoutGaps",
		},
		"counter: a process that ended keeps its place for good": {
			old:  ".Abs() > late",
			new:  ".Abs() > 1000*late",
			in:   "counter",
			test: "TestProcessesThatEndBeforeTheyConfirmStopNoOther",
		},
		"counter: a range is confirmed when half of the loss has passed": {
			old:  "w.acked+r.loss-r.Clock.Monotonic()",
			new:  "w.acked+r.loss/2-r.Clock.Monotonic()",
			in:   "counter",
			test: "TestNumberThatACallerHasIsNotLostByAFailover",
		},
		"counter: a record that is settled may be another one later": {
			old:  "\t\tc.Unsettled = false                          // the record was begun before w\n",
			new:  "",
			in:   "counter",
			test: "TestRecordThatIsGoneIsRefusedOnceItIsSettled",
		},
	},
	"internal/stored/counter.go": {
		"counter: bytes that take effect a second time count as their first effect": {
			old:  "[]byte(c.Write + string(v))",
			new:  "[]byte(c.Write)",
			in:   "internal/stored",
			test: "TestEffectIsOfOneWriteAndOneVersion",
		},
	},
	"counter/guard.go": {
		"counter: a guard that another process has raised meanwhile counts as raised": {
			old:  "case mark >= first:\n",
			new:  "case mark >= last:\n\t\t\treturn nil\n\t\tcase mark > first+1<<40:\n",
			in:   "counter",
			test: "TestNumberIsGivenByOneProcessThoughAnotherRaisesTheGuardLate",
		},
		"counter: numbers are reserved though the guard could not be raised": {
			old:  "if !g.works.Load() {",
			new:  "if !g.works.Load() && mark < -1 {",
			in:   "counter",
			test: "TestNothingIsReservedWhileAGuardCanNotBeRaised",
		},
		"counter: a call to the guard has no end": {
			old:  "context.WithTimeoutCause(ctx, g.timeout, drive.ErrTimeout)",
			new:  "context.WithTimeoutCause(ctx, 1000*g.timeout, drive.ErrTimeout)",
			in:   "counter",
			test: "TestReplyOfAGuardThatNeverComesCostsOneRequestTimeout",
		},
		"counter: a guard's store may lose the mark": {
			old:  "case traits.Loss > 0:",
			new:  "case traits.Loss > 1<<50:",
			in:   "counter",
			test: "TestGuardOnAStoreThatCanLoseTheMarkIsRefused",
		},
	},
	"counter/queue.go": {
		"counter: a source that fails is asked 20 times a second": {
			old:  "pause = min(max(leastPause, 2*q.backoff), mostPause, q.wait/2)",
			new:  "pause = leastPause",
			in:   "counter",
			test: "TestSourceThatFailsIsAskedLessAndLess",
		},
		"counter: a ticket is given to a call that began after its swap was sent": {
			old:  "case !c.rides:",
			new:  "case c.ids == nil:",
			in:   "counter",
			test: "TestCallThatFindsNoReservationMakesOneForAllThatWait",
		},
		"counter: a call that leaves lets its own reservation go on": {
			old:  "\tc.leave()\n",
			new:  "",
			in:   "counter",
			test: "TestMaxWaitEndsACallThatReservesByItself",
		},
		"counter: a call reserves beside the goroutine": {
			old:  "q.lane == nil || q.busy || ",
			new:  "q.lane == nil || ",
			in:   "counter",
			test: "TestCallThatFindsNoReservationMakesOneForAllThatWait",
		},
	},
	"counter/write.go": {
		"counter: a record is held to before it is settled": {
			old:  "if !c.Unsettled {",
			new:  "{",
			in:   "counter",
			test: "TestCounterThatAFailoverTookAtItsFirstNumberIsBegunAgain",
		},
		"counter: after a conflict the old record is written under the new version": {
			old: "if err := r.take(reply); err != nil && final(err) && !errors.Is(err, errGone) {\n\t\t\t\treturn",
			new: "if r.version = reply.Entry.Version; false {\n\t\t\t\tvar err error\n\t\t\t\treturn",
		},
	},
	"counter/range.go": {
		"counter: a number that a caller got is given back": {
			old: "return r.from(r.next.Swap(r.Count))",
			new: "return r.from(r.next.Swap(r.Count) - 1)",
		},
	},
	"counter/tickets.go": {
		"counter: a ticket is taken from what an earlier reservation left": {
			old: "newQueue(source, c, nil)",
			new: "newQueue(source, c, newStock(pace{most: 9, now: 9}))",
		},
	},
	"internal/lease/drive/settle.go": {
		"settle: a write that never took effect counts as one that did": {
			old: "case lease.Landed, lease.Missed:\n",
			new: "case lease.Missed:\n\t\t\treturn lease.Landed, reply\n\t\tcase lease.Landed:\n",
		},
	},
}.mutants("internal/sim/counters", "TestDrawnSchedulesGiveNoNumberTwice")
