// Package check finds ids that occur more than once, within and between sources,
// and says what its evidence tells of why.
//
// It promises to be exact: every duplicate is found, none is a guess, and each is
// named with the sources and the places where it stood, streams included. It
// works in bounded memory, however many ids there are; what does not fit is kept
// in a file that has no name any more once it is open, so that nothing is left
// behind, whatever ends the process.
//
//	read   sources one after the other, in pieces that fit; each id gets one
//	       number that says where it stood, across all sources
//	sort   each piece, unless it came in order, into a run: its ids in rising
//	       order, as differences, with their places
//	merge  the runs, each processor a range of ids; equal ids come together
//	judge  duplicates by rules, with what was seen while reading
//
// Ids that come in rising order are never sorted, and those that nearly do are
// sorted where they don't.
//
// A cause is only said with the numbers that it was concluded from. What no rule
// explains, or two do that nothing tells apart, is called unexplained: where that
// is a clock set back and rows that were copied, both are named.
package check
