// Package overlap decides whether ids of two layouts can be the same integer,
// which ones, and when.
//
//	id, ok := overlap.Lowest(a, b)        the lowest integer that both can issue
//	m, ok := overlap.Earliest(a, b)       from when on both can have been issued
//
// A [Set] is the ids of a layout with an interval of ticks and an interval of worker
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
// datacenter, since its bits may stand anywhere.) An integer is in a box when each of
// its fields lies between the field's two bounds. A walk down the bits has to remember
// two facts of a field: whether its bits so far equal those of its lower bound, and
// those of its upper bound. Two boxes make four facts, so 16 states at each of 64 bits,
// and the walk decides over all integers without listing one.
//
// The questions about time are bisections over that answer: a longer interval of
// ticks never has fewer integers.
//
// The package is pure: no I/O, no clock, no randomness. Everything in it is safe
// for concurrent use.
package overlap
