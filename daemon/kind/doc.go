// Package kind is the contract of a kind of id, so that programs can serve kinds of their own beside
// the fenced 64-bit ids: numbers of a segment, UUIDs, daily numbers.
//
// A [Minter] mints ids in batches into a [Batch] that its caller owns and uses
// again. One call carries any number of ids and costs no allocation an id, so
// that a front which answers a pipeline of a thousand requests asks once.
// A [Kind] reads the settings of each generator that the configuration names, and
// returns its [Opener]. A minter that can do more, such as report when its
// numbers end, lists that in its [Caps].
//
// The package promises fronts three things, whatever the kind: a mint call adds exactly the requested
// ids or nothing; every id has a text of 1 to 255 bytes of visible ASCII without a quote or a
// backslash, so that it goes into JSON, a line of text or a protocol's string as it is; and that text
// is the same in every front. Whether ids are unique is the kind's own promise, and its documentation
// must name the basis of that promise.
package kind
