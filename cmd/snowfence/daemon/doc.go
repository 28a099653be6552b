// Package daemon runs Snowfence as a service: fenced ids from a store, named
// generators, an HTTP front. [Run] is all of `snowfence serve` but for the
// reading of flags and the environment, so that other programs can embed it,
// with kinds of ids of their own (see package kind).
//
// # Start
//
// The store must answer at the start. Only with the page of a journal it may be
// away. Then the front listens, so that probes are answered while worker ids are
// still being claimed: /livez says 200 and /readyz 503. The daemon ends with an
// error when the configuration or the layout is wrong, or when the fence refuses
// the claim: every worker id is held, a pinned one by another process, or the
// clock is off.
//
// # Readiness
//
// A generator is ready while its lease has more left than a margin: a
// sixth of the window, at most ten seconds. Leases are extended at a third of
// the window, so a generator that is not ready has failed to extend its lease
// for half a window. The margin is the time that load balancers have to turn
// to another server before requests fail; they should probe in less.
//
// # End
//
// When its context ends, the daemon stops to accept connections, finishes the
// requests under way for at most the limit "drain", and then gives its worker
// ids back, so that the next start need not wait for them. A store that is away
// then is awaited for five seconds.
package daemon
