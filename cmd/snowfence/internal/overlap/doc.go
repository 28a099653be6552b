// Package overlap decides whether ids of two layouts can be the same integer,
// which ones, and when.
//
//	id, ok := overlap.Lowest(a, b)        the lowest integer that both can issue
//	m, ok := overlap.Earliest(a, b)       from when on both can have been issued
//	m, ok := overlap.Reached(a, b)        from when on, if those of b are there already
//
// A [Set] is what a layout makes of an interval of ticks and an interval of worker
// numbers, with every sequence. The layouts of two sets may differ in unit, epoch,
// widths and order.
//
// It promises to be exact: there is an answer if and only if an integer is in both
// sets. Nothing is estimated from value ranges, because two layouts cut the same
// 64 bits into different fields, and an integer of both must satisfy all fields of
// both at once.
//
// # How it is decided
//
// A set is cut into boxes: in each, every field of the id is an interval of its
// own. (An interval of worker numbers is up to three boxes where there is a
// datacenter, since its bits may stand anywhere.) An integer is in a box when each
// of its runs of bits lies between the run's two bounds. Walking down the bits, all
// that has to be remembered of a run is whether the bits so far equal those of its
// lower bound, and of its upper bound; at the next field that begins anew. Two boxes
// make four such facts, so 16 states at each of 64 bits, and the walk sees every
// integer without listing one.
//
// The questions about time are bisections over that answer: a longer interval of
// ticks never has fewer integers.
//
// The package is pure: no I/O, no clock, no randomness. Everything in it is safe
// for concurrent use.
package overlap
