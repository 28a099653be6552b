// Package merge says what is in the way of putting several sets of ids into one:
// players of two game servers, rows of two databases, two namespaces.
//
//	sides, err := merge.ParseSides(args)
//	tally := merge.NewTally(names, layouts, shown)    data against data
//	forecast := merge.Predict(a, b)                 namespace against namespace
//	strays := merge.NewStrays(side, issuer)           data against namespace
//
// A [Side] is what will be merged: ids that stand somewhere, and whoever issues
// more of them, an [Issuer]. That is a namespace in a store, or the layout and the
// worker ids of another system.
//
// # What it promises
//
// Data: every id that stands on two sides is counted, whatever the number of ids,
// in memory that does not grow with it. Clashing ids are shown as runs, of one
// worker id where a layout is known; when there are too many runs, those that lie
// closest together become one, and the gap that this took is told.
//
// Issuers: if it says that two can never issue the same integer, they can't, as
// long as each keeps to its layout, its worker ids and its horizon, which the
// lease protocol makes sure of for a namespace. That is decided exactly, by package
// overlap. If it says that they may, there are ticks at which both may stamp the
// same integer, and it names one. Whether they will is up to clocks, sequences and
// which worker ids are claimed, so it never says so.
//
// What may have been stamped counts as stamped, also where a register lies ahead of
// the clock, after a clock that was wrong or a take-over of ids with ticks to come.
//
// Two issuers of one side are held against each other as two of different sides
// are; [Forecast.Within] tells which it is.
//
// A side's own rows: what is ahead of the clock by more than [Skew], and its issuer
// may stamp from now on, counts as a stray. At or above the until of its worker
// number's register nobody can have stamped it under this namespace, so it came from
// elsewhere. Below it a holder can have, if its clock is ahead; a register whose floor
// is ahead of the clock too shows such a clock, and then the rows are taken for the
// holder's. In every other case the holder comes to those ticks yet. An id that is
// counted for nothing but a clock that is ahead costs a floor, one that is not
// counted costs an id that is issued twice.
//
// The past: a register tells the ticks of its present term alone. Of the terms
// before it is known that they lie below its floor; whatever is there may have
// been stamped. So the past of two issuers is settled by their data only.
//
// The future begins at now, by a clock that is right. A claimant whose clock is
// behind, by as much as the lease protocol lets pass, begins earlier with a worker
// id that was never claimed. Advice to set floors over somebody who was stopped adds
// as much, and advice to end by a time says that it does not.
//
// Where many registers meet many of another layout, neighbours are taken together
// as if each had the ticks of all of them. That can only turn a "never" into a
// "may".
//
// The package opens nothing and reads no clock. Its values are for one goroutine at
// a time, but for [Side] and [Issuer], which nobody changes.
package merge
