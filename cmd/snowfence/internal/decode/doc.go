// Package decode reads ids back: which number a text is, what its bits say
// under a layout, and under which preset layouts they make sense.
//
// [Read] turns a text in any encoding into the ids it may stand for. [Decode]
// takes one id apart. [Guess] ranks the presets by how plausible the id is
// under each: an id does not say which layout it has, so whatever comes out of
// a guess must be shown as one. [Result.Document] is the JSON form that the
// command line and the HTTP front share, and [Result.Picture] a drawing of the
// bits.
//
// The package is pure: the present time is an argument, and nothing is read
// or written. Everything in it is safe for concurrent use.
package decode
