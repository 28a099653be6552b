// Package daemon runs Snowfence as a service: fenced ids from a store, named
// generators, an HTTP front. [Run] is all of `snowfence serve` but for the
// reading of flags and the environment, so that other programs can embed it,
// with kinds of ids of their own (see package kind).
//
// # Start
//
// The fronts listen at once, so that probes are answered: /livez answers 200, and /readyz 503 until every
// generator serves or stands by for another process. Each generator is opened by itself. The daemon
// retries a generator that can't be opened, and serves the others meanwhile: its store is away, every
// worker id is held, or the clock is off.
//
// The daemon ends with an error when the configuration is wrong, when an address or a folder can't be used,
// or when every generator is refused for a lasting reason, such as another layout.
//
// Files of tokens and certificates are read again when they change, or when [Config].Reload asks for it.
//
// # Readiness
//
// A generator is ready while its lease has more left than a margin: a
// sixth of the window, at most ten seconds. Leases are extended at a third of
// the window, so a generator that is not ready has failed to extend its lease
// for half a window. The margin is the time that load balancers have to turn
// to another server before requests fail; they should probe in less.
//
// /activez answers 503 where a generator stands by, and /readyz 200 as long as nothing is wrong.
// [Config].Stands gets both.
//
// # End
//
// When its context ends, the daemon stops to accept connections, finishes the
// requests under way for at most the limit "drain", and then gives its worker
// ids back, so that the next start need not wait for them. A store that is away
// then is awaited for five seconds. Then the log shows until when a worker id can't be claimed.
package daemon
