// Package snowfence makes unique 64-bit ids of the Snowflake family and reads
// those of other systems.
//
// An [ID] is a number whose bits are a time, a worker id and a sequence. A
// [Layout] says which bits are which, and since when the time counts: it
// composes ids, takes them apart, and gives the bounds of an instant for range
// queries. [Presets] has the layouts of other systems. A [Generator] makes the
// ids of one worker.
//
// # What it promises
//
//   - An id of 63 bits survives every encoding here exactly, and in fixed width
//     sorts as the numbers do. Parsers say what is wrong with a text and where;
//     plain decimal has one spelling for one id.
//   - A Layout that [Layout.Validate] accepts refuses what does not fit it and
//     never masks a number; its text form round-trips.
//   - A Generator's ids strictly increase, and every tick in them lies in the
//     window of ticks that it was given, whatever the clocks do.
//
// Whether ids are unique beyond one Generator depends on who hands out workers
// and windows. Two generators with one worker id and overlapping windows repeat
// each other's ids, and this package can't know. The package
// [snowfence.example/snowfence/fence] sees to it: it leases worker ids from a
// store, with windows that never overlap. Use a Generator by itself only where
// something else makes sure of that. [NewGenerator] refuses to guess a worker or
// a window; [NewUnfencedGenerator] is for those who need no window.
//
// # What it leaves alone
//
// This package does no I/O, starts no goroutine of its own accord, keeps no
// package state, and reads time and randomness only through what it is given
// ([Clock] and [GeneratorConfig]). It needs nothing but the standard library.
package snowfence
