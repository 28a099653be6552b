// Command check measures `snowfence check`.
//
//	GOWORK=off go run ./check                                  # 100,000,000 ids beside sort -u
//	GOWORK=off go run ./check -ids 1000000000 -planted 1       # a billion, streamed
//
// Without -planted it writes ids to a file, in rising order and shuffled, and lets
// the program and `sort -u` find whether all are distinct: in turns, because on a
// shared machine only ratios of one run mean anything. sort has the same memory
// and both processors. It prints every round, and the medians with their ratio.
//
// With -planted it streams ids into the program and ends with an error unless
// exactly the planted duplicates are found and named with both of their lines, in
// at most 2 GiB of memory as the operating system counts it. Nothing of the ids
// is written anywhere but by the program.
package main
