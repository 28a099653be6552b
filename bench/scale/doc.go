// Command scale tells what a namespace costs its store: how fast a crowd of
// processes that start at once find worker ids in a pool that is more or less
// full, how many requests a holder makes, and what a namespace of a million
// worker ids asks of a claim.
//
//	GOWORK=off go run ./scale
//
// It runs the driver that ships, package drive, in hundreds of processes of
// it, in one goroutine and in virtual time. The registers are the reference
// store's; the network and the engine are a model of three numbers: the time
// on the way, and the time in which the engine, which does one thing after the
// other, serves a request and each register of a list. So the counts are exact
// for what the protocol does, and the times are as good as the three numbers.
// docs/scale.md shows its output and says what to make of it.
package main
