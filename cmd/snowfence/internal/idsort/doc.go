// Package idsort reads ids from sources and hands them out in rising order, each
// with the place where it stood. It knows nothing of what the ids mean.
//
//	read   the sources one after the other, in chunks that fit the memory; each
//	       id gets a position, a number that only grows in the order of reading
//	sort   each chunk into a run: pages of ids in rising order, as differences
//	merge  the runs, a page of each at a time
//
// It works in bounded memory, however many ids there are and whatever they are:
// positions differ where ids are equal, so a page never has to wait for more. What
// does not fit is put aside in a file that has no name once it is open. So nothing
// is left behind, whatever ends the process.
package idsort
