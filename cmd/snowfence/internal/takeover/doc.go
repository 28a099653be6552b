// Package takeover lets a namespace go on where another system's ids end.
//
//	reckoning, err := takeover.Reckon(facts)     what the old system can have issued
//	plan, err := takeover.Draft(ctx, r, reckoning)   what is to be written for that
//	err = takeover.Apply(ctx, r, plan, nil)
//
// An old system kept no register, so nothing keeps a new holder of a worker id
// from ticks that the old holder has stamped, but the clock: and it may be set
// back, or the old one's may have been ahead. A take-over writes for each worker
// id a floor above every tick that the old system can have stamped with it. From
// then on the rule of package fence holds for the old ids too: a claim begins at
// or above the until that it finds. A claimant whose clock is behind waits, or is
// refused.
//
// # What it needs
//
// The layout is the old system's: same unit, epoch, widths and order. Otherwise
// equal integers mean different things and no floor helps.
//
// The old system is stopped, all of it, and is never started again. Whether it is
// can't be seen from outside (a generator that lost its ZooKeeper goes on), so
// the operator says so, by when it was stopped or by its last id. What can be seen
// is that it is not: then nothing is written.
//
// # One floor for all
//
// The floor lies above the latest of all that is known: the time of the stop, the
// ticks of the last ids, the timestamps that the old system kept. It is the same
// for every worker id, though most of them stopped earlier, because the last id of
// one says nothing of what another one issued, and a floor in the past costs
// nothing.
//
// A margin is added for what is not known: a clock of the old system that was
// ahead of the one by which the stop was noted, ids that were issued after the last
// one that anybody saw, bursts that it stamped ahead of its clock. A margin of
// max-rollback costs nothing: a released worker id is claimed at once when its
// until is no further ahead than that.
//
// # Writing
//
// Floors are only raised, each by one swap under the version that was read. So a
// take-over can be interrupted and run again, and run twice it changes nothing.
// A register that can't be read gets no floor, and then the take-over ends with an
// error when all else is done.
package takeover
