// Package merge finds out whether several sets of ids can become one: players of two game
// servers, rows of two databases, two namespaces.
//
// A [Side] is one set: sources of ids, and an [Issuer] for each system that issues more of
// them. [Check] compares ids with ids, and [Predict] issuers with issuers, also two issuers
// of one side.
//
// Every id on two sides is counted, in memory that does not grow with their number. If
// the outcome of [Predict] is never, the two issuers can't issue the same integer, as long
// as each keeps to its layout, its worker ids and its horizon: that is decided exactly.
// Whether two issuers that may clash will clash depends on clocks, sequences and claims.
//
// A tick that may have been stamped counts as stamped. A register has the ticks of its
// present term alone, so only ids settle the past of two issuers. The future begins at
// now, by a clock that is right.
package merge
