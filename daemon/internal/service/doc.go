// Package service decides every request about ids, once for all protocols. The fronts translate. Each
// front calls it by the contract of package front, and refuses by itself the faults of its own
// protocol: hosts and other sites in HTTP.
//
// [Client.Use] looks a generator up once a request. [Use.Mint] then mints: it fills the caller's batch,
// and ids cost it no allocations. An error is a [*front.Problem].
//
// Counting is one addition a request, on a cache line of the generator's own,
// so that it costs as much for a thousand ids as for one.
package service
