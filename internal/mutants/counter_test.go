package mutants

const (
	register   = "counter/register.go"
	writing    = "counter/write.go"
	confirming = "counter/confirm.go"
	waiting    = "counter/queue.go"
	guards     = "counter/guard.go"
)

// counted lists bugs in counters. Drawn schedules find them.
var counted = drawn([]mutant{
	{
		name: "counter: a range of a lossy store is used before it is confirmed",
		file: register,
		old:  "if err == nil && l.loss > 0 {",
		new:  "if err == nil && l.loss > time.Hour {",
	},
	{
		name: "counter: it is confirmed by a write that was sent too early",
		file: confirming,
		old:  "w.acked+r.loss-r.Clock.Monotonic()",
		new:  "w.acked-r.Clock.Monotonic()",
	},
	{
		name: "counter: a confirmation does not look at the history",
		file: confirming,
		old:  "return other.Effect == w.effect })",
		new:  "return true })",
	},
	{
		name: "counter: bytes that take effect a second time count as their first effect",
		file: "internal/stored/counter.go",
		old:  "[]byte(c.Write + string(v))",
		new:  "[]byte(c.Write)",
		in:   "internal/stored",
		test: "TestEffectIsOfOneWriteAndOneVersion",
	},
	{
		name: "counter: a write is sent though it has no place to wait for its confirmation",
		file: confirming,
		old:  "\tif i < 0 {\n\t\treturn fmt.Errorf(\"counter %s: %d",
		new:  "\tif i = max(i, 0); i < 0 {\n\t\treturn fmt.Errorf(\"counter %s: %d",
		in:   "counter",
		test: "TestProcessesBeyondTheLimitWaitForTheirTurn",
	},
	{
		name: "counter: a write that is confirmed keeps its place",
		file: confirming,
		old:  "\t\tc.Waiting = slices.Delete(c.Waiting, i, i+1) // if",
		new:  "\t\t// if",
		in:   "counter",
		test: "TestFleetOfALossyStoreGrowsWithoutGaps",
	},
	{
		name: "counter: a process that ended keeps its place for good",
		file: confirming,
		old:  ".Abs() > late",
		new:  ".Abs() > 1000*late",
		in:   "counter",
		test: "TestProcessesThatEndBeforeTheyConfirmStopNoOther",
	},
	{
		name: "counter: numbers are given back though others were reserved after them",
		file: register,
		old:  "back.Last()+back.Increment == c.Lanes[i].Next",
		new:  "back.Last() < c.Lanes[i].Next",
	},
	{
		name: "counter: numbers are given back again when it is not known that they were",
		file: register,
		old:  "\t\tsent = true\n",
		new:  "",
		in:   "counter",
		test: "TestNumbersAreGivenBackOnce",
	},
	{
		name: "counter: a process forgets what it has reserved when it gives numbers back after a rollback",
		file: register,
		old:  "if c.Lanes[i].Next == next || l.used[l.name] >= next {",
		new:  "if c.Lanes[i].Next == next {",
		in:   "counter",
		test: "TestMarkIsKeptWhenTheRestOfADateIsGivenBackAfterARollback",
	},
	{
		name: "counter: a store that went back by one number gives it again",
		file: register,
		old:  "next <= max(mark, own) {",
		new:  "next < max(mark, own) {",
		in:   "counter",
		test: "TestCounterThatWentBackByOneNumberIsRefused",
	},
	{
		name: "counter: a guard that another process has raised meanwhile counts as raised",
		file: guards,
		old:  "case mark >= first:\n",
		new:  "case mark >= last:\n\t\t\treturn nil\n\t\tcase mark > first+1<<40:\n",
		in:   "counter",
		test: "TestNumberIsGivenByOneProcessThoughAnotherRaisesTheGuardLate",
	},
	{
		name: "counter: numbers are reserved though the guard could not be raised",
		file: guards,
		old:  "if !g.works.Load() {",
		new:  "if !g.works.Load() && mark < -1 {",
		in:   "counter",
		test: "TestNothingIsReservedWhileAGuardCanNotBeRaised",
	},
	{
		name: "counter: a call to the guard has no end",
		file: guards,
		old:  "context.WithTimeoutCause(ctx, g.timeout, drive.ErrTimeout)",
		new:  "context.WithTimeoutCause(ctx, 1000*g.timeout, drive.ErrTimeout)",
		in:   "counter",
		test: "TestReplyOfAGuardThatNeverComesCostsOneRequestTimeout",
	},
	{
		name: "counter: a guard's store may lose the mark",
		file: guards,
		old:  "case traits.Loss > 0:",
		new:  "case traits.Loss > 1<<50:",
		in:   "counter",
		test: "TestGuardOnAStoreThatCanLoseTheMarkIsRefused",
	},
	{
		name: "counter: a source that fails is asked 20 times a second",
		file: waiting,
		old:  "pause = min(max(leastPause, 2*q.backoff), mostPause, q.wait/2)",
		new:  "pause = leastPause",
		in:   "counter",
		test: "TestSourceThatFailsIsAskedLessAndLess",
	},
	{
		name: "counter: the guard is raised from the last number of a range on",
		file: "counter/register.go",
		old:  "l.guard.raise(ctx, got.First, got.Last())",
		new:  "l.guard.raise(ctx, got.Last(), got.Last())",
		in:   "counter",
		test: "TestNumberIsGivenByOneProcessThoughAnotherRaisesTheGuardLate",
	},
	{
		name: "counter: a range is confirmed when half of the loss has passed",
		file: confirming,
		old:  "w.acked+r.loss-r.Clock.Monotonic()",
		new:  "w.acked+r.loss/2-r.Clock.Monotonic()",
		in:   "counter",
		test: "TestNumberThatACallerHasIsNotLostByAFailover",
	},
	{
		name: "counter: a record is held to before it is settled",
		file: writing,
		old:  "if !c.Unsettled {",
		new:  "{",
		in:   "counter",
		test: "TestCounterThatAFailoverTookAtItsFirstNumberIsBegunAgain",
	},
	{
		name: "counter: a record that is settled may be another one later",
		file: confirming,
		old:  "\t\tc.Unsettled = false                          // the record was begun before w\n",
		new:  "",
		in:   "counter",
		test: "TestRecordThatIsGoneIsRefusedOnceItIsSettled",
	},
	{
		name: "counter: a number that a caller got is given back",
		file: "counter/range.go",
		old:  "return r.from(r.next.Swap(r.Count))",
		new:  "return r.from(r.next.Swap(r.Count) - 1)",
	},
	{
		name: "counter: an early date is begun again",
		file: register,
		old:  "full := len(c.Lanes) == lanesKept\n",
		new:  "full := len(c.Lanes) >= lanesKept && i > 0\n",
	},
	{
		name: "counter: a ticket is given to a call that began after its swap was sent",
		file: waiting,
		old:  "case !c.rides:",
		new:  "case c.ids == nil:",
		in:   "counter",
		test: "TestCallThatFindsNoReservationMakesOneForAllThatWait",
	},
	{
		name: "counter: a ticket is taken from what an earlier reservation left",
		file: "counter/tickets.go",
		old:  "newQueue(source, c, nil)",
		new:  "newQueue(source, c, newStock(pace{most: 9, now: 9}))",
	},
	{
		name: "counter: a call that leaves lets its own reservation go on",
		file: waiting,
		old:  "\tc.leave()\n",
		new:  "",
		in:   "counter",
		test: "TestMaxWaitEndsACallThatReservesByItself",
	},
	{
		name: "counter: a call reserves beside the goroutine",
		file: waiting,
		old:  "q.lane == nil || q.busy || ",
		new:  "q.lane == nil || ",
		in:   "counter",
		test: "TestCallThatFindsNoReservationMakesOneForAllThatWait",
	},
	{
		name: "counter: after a conflict the old record is written under the new version",
		file: writing,
		old:  "if err := r.take(reply); err != nil && final(err) && !errors.Is(err, errGone) {\n\t\t\t\treturn",
		new:  "if r.version = reply.Entry.Version; false {\n\t\t\t\tvar err error\n\t\t\t\treturn",
	},
	{
		name: "settle: a write that never took effect counts as one that did",
		file: "internal/lease/drive/settle.go",
		old:  "case lease.Landed, lease.Missed:\n",
		new:  "case lease.Missed:\n\t\t\treturn lease.Landed, reply\n\t\tcase lease.Landed:\n",
	},
})

func drawn(mutants []mutant) []mutant {
	for i := range mutants {
		if mutants[i].test != "" {
			continue
		}
		mutants[i].in, mutants[i].test = "internal/sim/counters", "TestDrawnSchedulesGiveNoNumberTwice"
	}
	return mutants
}
