// Package imports lets a namespace go on where another system's ids end.
//
//	facts, err := old.Look(ctx, layout, clock)       the worker ids that the old system had
//	plan, err := imports.NewPlan(facts)              the floor above its ids
//	plan, err = imports.Draft(ctx, r, plan)          what the namespace needs for that
//	err = imports.Apply(ctx, r, plan, patience, nil)
//
// An old system lacks registers, so only the clock keeps a new holder of a worker id from
// the ticks of the old one, and clocks may be wrong. An import writes for each worker id a
// floor above every tick that the old system can have stamped with it. A claim begins at or
// above the floor, by the rule of package fence. The layout must be the old system's:
// otherwise equal integers mean different things and floors are useless.
//
// The old system is stopped, all of it, for good. Nothing shows that from
// outside: a generator that lost its ZooKeeper goes on. So the operator says when it was
// stopped, or gives its last ids. If anything shows that it still runs, nothing is written.
//
// The floor lies above the latest of the stop, the last ids and the old system's own
// timestamps. It is the same for every worker id, because the last id of a worker id shows
// nothing of another one. A margin is added for clocks that were ahead, missing last ids
// and bursts. A margin of max-rollback is free of waits.
//
// Floors are only raised, each by one swap under the version that was read. So an import
// can be interrupted and run again, and a second run changes nothing.
package imports
