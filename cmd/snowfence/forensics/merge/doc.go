// Package merge says what is in the way of putting several sets of ids into one: players
// of two game servers, rows of two databases, two namespaces.
//
// A [Side] is one of the sets: sources of ids, and an [Issuer] for each system that issues
// more of them. [Tally] compares ids with ids, [Strays] ids with issuers, and [Predict]
// issuers with issuers, also those of one side.
//
// Every id on two sides is counted, in memory that does not grow with their number. If two
// issuers are said never to issue the same integer, they can't, as long as each keeps to its
// layout, its worker ids and its horizon; [Meet] decides it exactly. If they may, there are
// ticks at which both may stamp the same integer. Whether they will depends on clocks,
// sequences and claims, so it is never said.
//
// A tick that may have been stamped counts as stamped. A register tells the ticks of its
// present term alone, so only ids settle the past of two issuers. The future begins at now,
// by a clock that is right.
package merge
