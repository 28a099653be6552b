// Package decode reads ids back: which number a text is, what its bits mean
// under a layout, and under which preset layouts they make sense. It also reads
// UUIDs, ULIDs and ObjectIDs, which need no layout.
//
// An id does not show its layout, so whatever comes out of [Guess] must be
// shown as a guess. The command line, the daemon and its page share [Of] and
// [Document].
//
// The package is pure: the present time is an argument, and nothing is read
// or written. Everything in it is safe for concurrent use.
package decode
