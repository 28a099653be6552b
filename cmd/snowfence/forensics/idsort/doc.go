// Package idsort reads ids from sources and hands them out in rising order, each with the
// place where it stood. It does not know the meaning of the ids.
//
// Ids are read in chunks. Each chunk is sorted and kept as pages, which know their first
// and last id. Then the ids are handed out piece by piece. A piece that does not fit the
// memory is halved by the next bit of its ids, or, where halves would read too many pages
// twice, is divided into parts that are put aside again.
//
// Pages that do not fit the memory go to a file that has no name once it is open. So
// nothing is left behind, however the process ends.
package idsort
