// Package fence holds a worker id for as long as a program runs, so that no two
// ids of a namespace are ever equal, whatever the clocks do.
//
//	holder, err := fence.Open(ctx, fence.Config{Store: s})
//	id, err := holder.Next(ctx)
//	err = holder.Close(ctx)
//
// The rest of this comment is the argument that this is so. It is written for
// somebody who wants to find the hole in it. The protocol itself is a function
// in package internal/lease, which neither reads a clock nor does I/O; this
// package is the goroutine around it.
//
// # The idea
//
// An id is a tick (whole units of time since an epoch), a worker id and a
// sequence. Two ids of one worker id differ if their ticks do. So ids stay
// unique if each tick of a worker id is stamped by one holder only, and that
// can be arranged beforehand: a store says which ticks a holder may stamp, and
// the holder stamps no other. The tick in the id is its own fencing token. A
// process that was paused for an hour and still believes that it holds the
// worker id can do no harm: the ticks that it was given lie in the past, and
// nobody else was given them.
//
// Other designs give the worker id itself away, until a session or a TTL ends,
// and rely on the old holder to notice in time. That needs clocks that agree
// and processes that never stop. This needs neither.
//
// # Words
//
// A namespace is one space of unique ids in one store: one layout, one epoch,
// one set of worker ids. Its record holds the layout's text and a random
// number, its incarnation, and never changes.
//
// A register is what the store keeps for one worker id. It is never deleted:
//
//	term      counts the claims of this worker id; it only grows
//	floor     the first tick that the present term may stamp
//	until     above every tick that anyone may have stamped with this worker id
//	holder    a random nonce of this claim; empty when released
//	write     a random mark of this very write
//	clock, window, quarantined, host, pid, version, started
//	          the writer's clock and window, an operator's mark, and for people
//	layout, incarnation
//	          the namespace's, repeated
//
// A term is one claim of a worker id. It has one generator, which stamps ticks
// in [floor, until) and none outside, and which is never revived. The window
// is how far until lies ahead of the clock.
//
// # The rules
//
// Every write is a compare-and-swap that is guarded by the exact version of
// the register that it was computed from. The store promises that of the swaps
// that name one version at most one takes effect, that an acknowledged one is
// not lost, and that no version is ever used again.
//
// Claim. A register may be claimed when it has a holder and now ≥ until, or has
// none and until is at most max-rollback ahead of now; never when it is
// quarantined, of another incarnation or layout, or can't be decoded. The claim
// writes term+1, a new nonce, floor = max(until of the guarded version, now)
// and until = floor + window. Then the namespace's record is read again; only if it
// is still the same a generator starts.
//
// Extend. At a third of the window, until becomes max(until, now + window). The
// generator gets the new bound after the store acknowledged it, not before. If
// the store stays silent the generator ends with the bound that it has, by
// itself.
//
// Unknown outcome. A swap that was not acknowledged may have taken effect, may
// not have, or may still. So may one that met a conflict, if something on the
// way repeated it. The register is read again, and decides:
//
//	it shows the very bytes that were sent   it took effect: adopt what is
//	                                         stored, with the version read
//	it has the version that guarded them     undecided: send the same bytes
//	                                         under the same guard again
//	it shows an older write of this term     the read was late: read again, while
//	                                         there are usable ticks
//	anything else                            the term is lost
//
// Until that is decided nothing else is written. Sending the same bytes again
// is harmless: the first copy that takes effect makes the guard of all others
// stale.
//
// Lose. The generator is revoked, which seals it in one atomic step: what was
// reserved before is issued, everything after fails. Then a claim begins. The
// register is left alone.
//
// Release. The generator is sealed first, which also tells the highest tick it
// reserved. Then the holder is cleared and until comes down to min(until,
// max(floor, highest reserved + 1)), so that a pinned worker id can be claimed
// again at once. This is the only write that lowers until. Once a release was
// asked for, no outcome of anything leads to an id.
//
// # The theorem
//
// For one worker id, the intervals [floor, final until) of different terms are
// disjoint; every id's tick lies in its term's interval; within a term, ids
// strictly increase. So no two ids of a namespace are equal.
//
// The versions of a register form one chain, because each swap is guarded by
// the version before it. Walk along it. A term begins with its claim; all the
// writes up to the next claim are extensions by its holder, a release by its
// holder, or an operator's, because every other writer's guard is stale. An
// operator (package roster) sets the mark, or clears the holder and keeps until: no
// interval changes by that, and the holder's next write meets a stale guard.
// Taking over from another system (package takeover) writes a term that is
// released at once, whose floor and until are equal and at least the until before
// it: an empty interval.
//
// Until never shrinks in an extension. So while a term lasts, its interval only
// grows at the upper end, and every bound that its generator was ever given is
// an until that stood in the chain: it was acknowledged, or was read there.
//
// A release lowers until, but not below what was stamped, since the generator
// was sealed before and says so itself; and not below the term's floor, so that
// it never reaches into an earlier term. It is guarded by the term's last
// version, so it can't come after somebody else's claim.
//
// A claim's floor is at or above the until that its guard had, which is the
// final until of the term before: after the claim took effect no write of that
// term can, since their guards are gone. Hence the intervals are disjoint, for
// neighbours and, as until never falls below a floor, for all.
//
// A generator stamps ticks in [floor, bound) by construction: the state word of
// a generator holds the next free slot, only grows, and is never taken beyond
// the bound. Within a term each slot, a tick and a sequence, is taken once.
//
// No clock occurs in this. Clocks decide when a claim is made and where an
// interval begins, and so how long somebody waits and how well ids are ordered,
// but not whether intervals are disjoint. The floor makes sure of it when a
// clock is behind, and a clock that is ahead only takes ticks that lie further
// up. The rule that a held register is not claimed before its until keeps
// living holders from being robbed; breaking it would cost availability, not
// uniqueness.
//
// It needs two things: a store that keeps its promises, and that no live clone
// of a process's memory exists. A journal needs two more; see there.
//
// # Failure by failure
//
// The holder crashes. Its register keeps its until. Nobody claims it until that
// tick has come, at most a window later, and then from there on. Ids that the
// crashed process had issued lie below. Its successor takes another worker id
// from the pool at once, or waits, if it is pinned.
//
// The holder is paused (SIGSTOP, a long collection, a suspended machine), in
// the middle of anything. Its generator's bound does not move meanwhile, so
// whatever it still returns has a tick below the acknowledged until. When it
// goes on, its first look at the clock ends the window; the overdue extension
// tells whether the worker id is still its own. If it is, the same term goes
// on. If not, the generator is revoked and another claim is made. Callers see
// errors or a short wait, never an old tick that somebody else has stamped.
//
// A reply is lost. See unknown outcome. The generator lives on what was
// acknowledged before.
//
// A write arrives late, after its sender gave it up. Its guard is stale if
// anything was written since, and then it does nothing. If nothing was, it
// takes effect: a late extension makes the register rest longer, a late claim
// makes a term that nobody issues under, because its claimant has turned away
// and no later claim of it has that nonce. A late release finds its generator
// sealed.
//
// The clock steps back. Within a term the generator does not follow: up to
// max-rollback it runs at half speed until the clock has caught up, beyond that
// it stands still and refuses. A holder from a pool then ends its term and
// claims another worker id, where now is the lower time; order is promised per
// term only. Where the store has a clock, one that is more than ten minutes behind
// is refused: no ids are issued until it is right. A pinned holder refuses until
// the clock is back. A process that restarts with its clock an hour back on a
// store without a clock finds its old register held or its ticks far ahead, and
// takes another worker id; a pinned one is refused at once, with the offset, and
// nothing is written, unless it may wait for that long: with a claim-wait of an
// hour it waits.
//
// The clock steps forward, by more than ten minutes. The term ends, before the
// next extension could write a bound far ahead into the register, where it
// would keep everybody away until that time has come. The next claim is judged:
// by the store's clock where it has one; else by watching for a third of the
// window which registers change, since every living holder's does, and
// comparing what their clocks showed. That third is the claimant's own, and a
// minute at most: holders with longer windows may not show in it. They are looked
// for in all of a pool of 16 bits, and in as much of a larger one. A clock that is off
// by more than ten minutes, to either side, is refused loudly and nothing is
// written. When nobody is found to compare with, the clock is accepted, and that is
// logged.
// A machine that was suspended looks the same, and passes.
// Other claims are judged by the store's clock too; where there is none they
// are not kept waiting for a third of a window, but a claim that has to wait
// compares clocks with the holders that it sees extend. A register that a bad
// clock did push ahead is simply busy until then, or quarantined by an operator.
// It is never repaired downwards.
//
// The store is down. Ids are issued to the end of the window: at least two
// thirds of it, 40 s by default for a pool, and a third on a lossy store. [Status]
// says how long that is. Then calls wait until it has lasted for max-wait, and
// fail at once from there on, saying why. When the store is back the same term
// goes on, unless somebody claimed it: at once, or on a lossy store after its
// loss. The log says once that no ids are issued, when calls begin to be refused,
// and once that they are again, whether or not anybody asks for one; the same
// goes for a clock that stepped back, and for a claim that does not succeed.
//
// The store is damaged: it says by [store.ErrDamaged] that what it keeps can't
// be read and that no retry mends it. A claim fails at once if that is the
// namespace's record or the register of a pinned worker id. In a pool it goes
// on to other worker ids, and waits for none if none is left. A term is not
// ended by it: ids are issued to the end of the window.
//
// The store is deaf: its calls return neither in time nor when their context
// ends, which breaks its contract. Each such call keeps a goroutine and the
// register that it was to write until it returns, and another is made at each
// request timeout. Ids and [Holder.Close] are as bounded as with a store that is
// down.
//
// The store is lossy: it can lose acknowledged writes that are younger than a
// time that it declares, its loss. A bound is used there only when a later swap
// that was guarded by it has been acknowledged and had been sent at least loss
// after the bound was. When that swap took effect, the bound still stood, and
// was too old to be lost. (It is the sending that counts. An acknowledgement
// that comes loss later may be of a swap that took effect at once, and was
// lost with the bound.) So the first ids come after loss and a round trip; a
// window must be longer than three losses. The namespace's record could be lost
// as well, and leave registers of an incarnation that is no more. One that is
// young, by its writer's clock and with ten minutes for what that may be off, is
// therefore read again at the age of loss before anything is claimed, which
// makes the first ids of a new namespace come after two losses. Versions are random, so a guard
// that was read before a failover matches nothing that is written after it. A
// replaced primary that still acknowledges is outside this.
//
// The store is rolled back further than it declares, emptied, or exchanged.
// What it knew of ticks is gone. A claimant then starts at its own now, and if
// an earlier holder of that worker id still issues, or has issued ahead of that
// clock, ids repeat: for a third of a window and a round trip, after which the
// earlier holder finds its register changed; for the rest of its window if it
// can't reach the store. A holder that finds another incarnation of the
// namespace, or other datacenters, stops for good. One that finds no record
// where there was one claims nothing until it is back, and makes none: each
// attempt to claim begins with the record, so that no register is ever written
// under an incarnation that is gone.
//
// The process is cloned: a snapshot of a virtual machine is started beside it.
// Both have the generator, and repeat each other's ids, until one of them has
// written and the other one reads what it did not write itself: a third of a
// window and a round trip, or the rest of the window without the store. It is
// for this that an outcome is decided by the bytes of the write, with their
// random mark, and not by the nonce: the clone has the nonce too, and would
// take its twin's extensions for its own, for ever.
//
// An operator quarantines a worker id: sets the mark in its register. Nobody
// claims it while it is set. Its holder, if there is one, finds the register
// changed at its next extension, ends the term and leaves the register exactly
// as the operator wrote it. So the mark works as a switch, within a third of a
// window.
//
// Two holders of one program are pinned to one worker id. If the program gives
// both the same [Process] with its start, the second is told so as soon as it
// sees the register change, within a third of the first one's window; until then
// the first might be one that could not release, whose ticks end. Otherwise it
// waits and fails like any other. There is no registry of holders in this
// package: the register is one.
//
// # The journal
//
// A restart needs the store, for a claim. A holder with a long window may keep a
// journal ([Config].Journal) and then does not: the next process on the machine
// goes on with its term. The journal holds one page, package internal/journal keeps
// it in a folder:
//
//	the namespace's record, the worker number, the version and the register
//	          as they were last acknowledged
//	usable    the bound that was acknowledged, and confirmed where that is needed
//	used      above every tick that was stamped, or will be before the next page
//	pending   the extension whose outcome is open, byte by byte
//
// Its bound is a window one level down. The generator's bound is the lesser of
// usable and used. Used is moved ahead by a second at a time, when half of it is
// left, and the generator gets it after the disk acknowledged the page, not
// before. The disk is written to beside everything else: one that is slow stops
// ids at used, and nothing more.
//
// Resume. A process that starts consumes the page: from then on, durably, nobody
// can have it. It writes a page of its own with the same used, so that the term is
// not lost to the next process should this one end before it issues anything. It
// asks the store once what the register shows, and waits a second for that at
// most. What shows a write that the page does not know ends it, and a claim begins;
// silence does not. It writes its page again, with used moved ahead, and then its
// generator begins at the used of the consumed one. A page is left aside, with a
// line in the log, if it is of another namespace, layout or datacenter, if
// another worker is pinned, if nothing of it is left, and if the store can lose
// more now.
//
// Extensions go on under the page's version. An extension is written into the
// page before it is sent: its mark tells the next process that it is its own.
// Without that a crash at the wrong moment would cost the term, but no id.
//
// Fail. After a failed write it is not known which page is there, so none is
// trusted any more. The page is removed, and when that is durable the term goes
// on without a journal. If it can't be removed, or is not there because somebody
// else took it, the term ends: whoever should resume from it stamps ticks that
// nobody else has, below the usable of a term under which this process issues no
// more. The next term has no journal. So a disk that dies costs the journal, at
// worst a term, and never two equal ids.
//
// Release. The page is discarded before the release is sent, because the release
// lowers until, and a page that outlived it would reach above. A crash in between
// leaves a register that rests, as without a journal. If the page can't be
// discarded, until is left where it is. And it is discarded only when the store
// has just answered: a holder that is closed while the store is away leaves its
// page to the next.
//
// The theorem speaks of a term's interval; this is about who stamps in it. A term
// is held by at most one process at a time, because the page is the token: a
// process holds the term that claimed it, or that consumed its page, and each
// page is consumed once, after its writer has ended. The generators of a term
// thus form a chain. Each begins at the used of the page that it consumed, the
// last one that its predecessor knew to be durable or a later one; and its
// predecessor never stamped at or above that. So the ticks of a term are parted
// among its generators by their journals' bounds, and slots of different
// generators differ as those of one do. Nothing else of the proof changes: all of
// them stay below an until that stood in the chain of the register's versions, and
// the register's until never falls below it while a page is there.
//
// Whether the register is still the term's when a page is consumed does not matter
// for this. Whoever claimed it meanwhile, be it after an operator released it, has
// a floor at or above the until of the version before. What the store is asked
// for is what this does not cover: a page that is older than it should be, a store
// that was exchanged, a mark of the operator. If the engine has a clock, this one is
// judged by it as for a claim: one that is far off ends the term. A store that was silent
// is asked for its clock before anything is written. Until then ids come from the page
// alone, and a clock that is ahead can push no register.
//
// It needs two things more: a local disk whose fsync and rename mean what they
// say, and that no consumed or older page comes back. Against the latter the
// journal compares what the file system notes by itself of a file's last change,
// which no copy has, and the machine's present run, which no image of it has; see
// there. What remains is a live clone, of the disk instead of the memory.
//
// # What it costs to wait
//
// A longer window lets a holder do without its store for longer; it rests a
// crashed holder's worker id for longer, and makes a clone repeat for longer. With
// a journal the crash of a process costs nothing of that, as long as its machine
// and its folder are there: the next process has the worker id at once. If the
// folder is lost, a pinned worker id rests for the window.
//
// A journal costs two fsyncs a second, busy or not, and one each extension. It
// makes the disk one more thing that ids depend on.
//
// # What is not promised
//
// Ids of different worker ids, and so of different terms, are ordered only as
// well as clocks agree. A live clone, a store that forgets more than it
// declares, and a replaced primary that still acknowledges are limits, as said
// above. Two stores are two spaces: with a store in a folder, as the file store is,
// a namespace is unique among the processes that share the folder. Where several
// stores share a namespace, the record of each lists the datacenters that it may
// issue, and keeping those lists disjoint is up to the operator.
//
// # How it is tested
//
// Package internal/sim runs the step function, with real generators and a real
// store, through thousands of drawn schedules: lost, late, repeated and reordered
// messages, late reads, crashes at every step, pauses and suspends of hours, clock
// steps of up to a year, drift, releases, outages, failovers, exhausted pools, the
// horizon. No two ids may be equal in them, and when the faults end ids must be
// issued again within two windows, the loss and a little. Journals lie on disks
// that fail, hang, lose what was not synced and are restored from copies.
//
// Its TestMutantsAreCaught does the same to ten wrong variants, and
// TestMutantsOfTheJournalAreCaught to those of the journal, each of which must be
// caught. TestMutants11 and TestMutants12 show the last two limits and that they
// last no longer than is said here.
//
// TestShell does the same to the goroutines around it: real holders in bubbles of
// virtual time, closed, killed, stopped and started again while calls wait.
package fence
