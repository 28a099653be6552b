// Package imports lets a namespace go on where another system's ids end.
//
//	facts, err := old.Look(ctx, layout, clock)       the worker ids that the old system had
//	plan, err := imports.NewPlan(facts)             the floor above its ids
//	plan, err = imports.Draft(ctx, r, plan)         what the namespace needs for that
//	err = imports.Apply(ctx, r, plan, nil)
//
// An old system kept no register, so only the clock keeps a new holder of a worker
// id from the ticks of the old one. Clocks may be set back, and the old system's may
// have been ahead. A take-over writes for each worker id a floor above every tick that
// the old system can have stamped with it. A claim begins at or above it, by the rule of
// package fence. The layout must be the old system's: otherwise equal integers mean
// different things and no floor helps.
//
// The old system is stopped, all of it, and never starts again. Nothing shows that
// from outside: a generator that lost its ZooKeeper goes on, Leaf for ever and its
// recyclable variant for an hour. So the operator says when it was stopped, or which
// id was its last. If anything shows that it still runs, nothing is written.
//
// The floor lies above the latest of the stop, the last ids and the old system's own
// timestamps. It is the same for every worker id, because the last id of a worker id
// shows nothing of another worker id. A margin is added: the old clock may have been ahead,
// the last ids may be missing, and bursts may have stamped ids ahead of the clock. A margin of
// max-rollback costs no wait: a released worker id is claimed at once when its until is at most
// max-rollback ahead.
//
// Floors are only raised, each by one swap under the version that was read. So a
// take-over can be interrupted and run again, and the second run changes nothing.
package imports
