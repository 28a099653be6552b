// Package merge says what is in the way of putting several sets of ids into one:
// players of two game servers, rows of two databases, two namespaces.
//
//	sides, err := merge.ParseSides(args)
//	report, err := merge.Check(ctx, merge.Config{Sides: names, Inputs: inputs, Issuers: issuers})
//
// A [Side] is one of the sets that will be merged: sources of ids, and an [Issuer] for
// each system that issues more of them. [Tally] compares ids with ids, [Strays] ids with
// issuers, and [Predict] issuers with issuers.
//
// # What it promises
//
// Data: every id on two sides is counted, in memory that does not grow with their number.
// Clashing ids are shown as runs, of one worker id where a layout is known. When there are
// too many, those that lie closest together become one, and the report has their gap.
//
// Issuers: if it says that two can never issue the same integer, they can't, as
// long as each keeps to its layout, its worker ids and its horizon. The lease protocol
// makes sure of that for a namespace. Package overlap decides it exactly. If it says
// that they may, there are ticks at which both may stamp the same integer, and it names
// one. Whether they will depends on clocks, sequences and claims, so it never says so.
//
// # How it judges
//
// A tick that may have been stamped counts as stamped, also where a register lies ahead
// of the clock, after a clock that was wrong or a take-over of ids with ticks to come.
// Two issuers of one side are compared as those of two sides are.
//
// A side's own rows: a row more than [Skew] ahead of the clock counts as a stray if its
// issuer may stamp it from now on. At or above the until of its register nobody can have
// stamped it under this namespace, so it came from elsewhere. Below the until its holder
// can have stamped it, if the holder's clock is ahead. A register whose floor is ahead of
// the clock too shows such a clock, and then the rows count as the holder's. In every
// other case the holder will come to those ticks. A row that counts although only a clock
// was ahead costs a floor; a row that does not count, and should, costs a duplicate id.
//
// The past: a register tells the ticks of its present term alone. Earlier terms lie
// below its floor, and any tick there may have been stamped. So only the data of two
// issuers settles their past.
//
// The future begins at now, by a clock that is right. A claimant whose clock is
// behind, by as much as the lease protocol lets pass, begins earlier with a worker
// id that was never claimed. Advice to set floors above a system that was stopped adds
// as much, and advice to end by a time says that it does not.
//
// Where many registers meet many of another layout, neighbours are taken together as if
// each had the ticks of all of them. That can only turn a "never" into a "may".
//
// The package opens nothing and reads no clock but the one that it is given. Its values
// are for one goroutine at a time; [Side] and [Issuer] never change.
package merge
