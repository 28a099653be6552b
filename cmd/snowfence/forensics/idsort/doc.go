// Package idsort reads ids from sources and hands them out in rising order, each
// with the place where it stood. It does not know the meaning of the ids.
//
//	read   the sources one after the other, in chunks that fit the memory; each
//	       id gets a position, a number that only grows in the order of reading
//	keep   each chunk in order, as pages that know their first and last id
//	sort   the ids piece by piece: a piece that does not fit the memory is divided
//	       by the next bit of its ids; one that is in order needs no sorting
//
// Pages that do not fit the memory go to a file that has no name once it is open.
// So nothing is left behind, however the process ends.
package idsort
