// Package check finds ids that occur more than once, within and between sources,
// and says why, as far as its evidence goes.
//
// It promises to be exact: every duplicate is found, none is a guess, and each is
// named with the sources and the places where it stood, streams included. It works
// in bounded memory; see package idsort, which sorts the ids.
//
//	observer  watches the ids in the order of reading: which worker id went where
//	tally     counts the ids in their own order, where equal ones come together
//	judge     groups the duplicates, and finds a cause for each group by rules
//	words     puts the causes into sentences
//
// A cause comes with the numbers that it was concluded from. What no rule explains,
// or what two rules explain alike, is called unexplained, and both are named.
package check
