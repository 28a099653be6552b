// Package fence holds a worker id for as long as a program runs. No two ids of a
// namespace are ever equal, whatever the clocks do.
//
//	holder, err := fence.Open(ctx, fence.Config{Store: s})
//	id, err := holder.Next(ctx)
//	err = holder.Close(ctx)
//
// Most callers need [Open], [Holder.Next] and [Holder.Close]. [Holder.Fill] issues many ids.
// A [Holder] is safe for simultaneous use by multiple goroutines.
//
// # The idea
//
// An id is a tick (a whole unit of time since an epoch), a worker id and a sequence. A
// store records which ticks a holder may stamp, and the holder stamps no others. The next
// holder of the worker id begins where those ticks end.
//
// So the tick in the id is its own fencing token. A process may sleep for an hour and
// still believe that it holds the worker id. It can do no harm: its ticks lie in the past, and are this
// process's alone. Clocks decide how long a claim waits and how well ids are ordered. They do not
// decide whether ids are unique.
//
// # Words
//
//	namespace  one space of unique ids in one store. Its record holds the layout and
//	           a random number, the incarnation. The record never changes.
//	register   the store's entry for one worker id. It is never deleted.
//	term       one claim of a worker id. It has one generator, and one life.
//	floor      the first tick that the term may stamp
//	until      lies above every tick that was stamped with this worker id: its bound
//	window     the distance from the clock to until: 60 s, or 5 s for a pinned worker id
//	loss       how young a write is that the store can still lose; 0 if it is durable
//
// # The protocol
//
// Every write is a compare-and-swap. Its guard is the version of the register from which
// the new value was computed.
//
// Claim. A register is free when its until has passed. A released one is free earlier, when
// its until is at most max-rollback ahead. The claim sets floor = max(until, now) and
// until = floor + window. Then the holder reads the namespace's record again. The generator
// starts if the record is still the same.
//
// Extend. At each third of the window the holder moves until to a window from now. The
// generator gets the new bound after the store has acknowledged it. If the store is
// silent, the generator stops by itself at the bound that it has.
//
// Unknown outcome. The store may not acknowledge a write, or may report a conflict. Either
// way the write may have taken effect. So the holder reads the register. If it shows the
// bytes that were sent, the write took effect. If it shows the version that guarded them,
// the holder sends the same bytes again. If it shows an older write of this term, the read
// was late, and the holder reads again. Anything else ends the term. The term's next write
// waits for this. A claim may be given up undecided: nothing is ever issued under it.
//
// Confirm, on a lossy store only. A bound is acknowledged. At least loss later another swap
// is sent. When that one is acknowledged, the bound is usable. So the first ids come after
// loss and a round trip, and a window must be longer than three losses.
//
// Lose. The generator is sealed in one atomic step, and the holder claims again. It does
// not touch the register of the lost term.
//
// Release. The generator is sealed first. Then the release clears the holder and lowers
// until, at most to the tick after the last one stamped. So the worker id is free at once. No other
// write lowers until.
//
// Strict order. With a layout of one worker id, ids increase in the order in which they are
// asked for, across holders. The generator stops a window after the sending of the last write
// that the store acknowledged. A holder that was not released is succeeded when its register was
// unchanged for its window and an eighth. Both are measured on monotonic clocks.
//
// Journal. With [Config].Journal the holder keeps one page of its term on a local disk. A
// restart on the same machine then goes on with the term, and does not need the store. The
// generator's bound is then the lesser of the store's bound and the page's. It gets a new one
// after the page is on the disk. A process that starts consumes the page, so at most one
// process at a time holds the term.
//
// # What happens when
//
//	the holder crashes     Its worker id rests until its window ends. A successor takes
//	                       another one from the pool at once, or waits if it is pinned.
//	it is paused           It issues no tick above its bound. Then it extends or claims again.
//	the clock steps back   Up to max-rollback ids come at half speed until it has caught up.
//	                       Beyond, a pool holder claims again, and a pinned one refuses.
//	it steps forward       By more than ten minutes: the term ends, and a clock that is off by
//	                       more than ten minutes claims nothing, see [ClockError].
//	the store is down      Ids are issued to the end of the window. Then calls wait, and are
//	                       refused once that has lasted for max-wait. See [Holder.Status].
//	the store is damaged   A claim in a pool goes on to other worker ids, a pinned one fails
//	                       at once. A term goes on to its window's end. See [store.ErrDamaged].
//	the record is another  The holder stops for good, see [ErrNamespaceReplaced]. Without a
//	                       record nothing is claimed until it is back.
//	the id is quarantined  The term ends at the next extension, within a third of a window.
//	an id is pinned twice  The second holder waits for the first one's window, and then gets a
//	                       [HeldError]; [ErrPinnedTwice] at once if both give the same [Process].
//	the journal's disk     When it is slow, ids stop at the page's bound. When it fails, the
//	                       holder goes on without a journal, or the term ends.
//
// # Testing your code
//
// Package memstore is a store in memory, package faultstore makes any store fail, and package
// testing/synctest brings fake time. They need no settings:
//
//	synctest.Test(t, func(t *testing.T) {
//		ids, err := fence.Open(t.Context(), fence.Config{Store: memstore.New().Client()})
//		// … an hour passes in no time
//		err = ids.Close(t.Context()) // before the test ends, as the holder has a goroutine
//	})
//
// TestProgramsUnderTestNeedNoSettings is such a test, with a store that is away for a while.
//
// # What is not promised
//
// Ids of different worker ids are ordered only as well as clocks agree. Two stores are two
// spaces, also two folders of the file store.
//
// docs/guarantees.md has each promise with its limits and tests; the ends of "Uniqueness" list all
// that can make ids repeat, such as a live clone of the process. docs/proof.md explains why no two ids
// are equal. ARCHITECTURE.md shows the code.
package fence
