// Package service is what the daemon does, whatever protocol it is asked in.
// Every decision about ids is made here once. The fronts translate. Each asks by the
// contract of package front, and refuses by itself what only its protocol has: hosts
// and other sites in HTTP.
//
// [Client.Use] looks a generator up once a request. [Use.Mint] then mints: it takes
// a batch of the caller's and costs no allocation an id. An error is a [*front.Problem].
//
// Counting is one addition a request, on a cache line of the generator's own,
// so that it costs as much for a thousand ids as for one.
package service
