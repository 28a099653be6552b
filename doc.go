// Package snowfence makes unique 64-bit ids of the Snowflake family and reads
// those of other systems.
//
// An [ID] is a number whose bits are a time, a worker id and a sequence. A [Layout] sets which bits
// are which, and since when the time counts. It composes ids, takes them apart, and gives the
// bounds of an instant for range queries. [Presets] has the layouts of other systems. A [Generator]
// makes the ids of one worker.
//
// # What it promises
//
//   - An id of 63 bits survives every encoding here exactly, and in fixed width
//     sorts as the numbers do. Parsers report what is wrong with a text and where;
//     plain decimal has one spelling for one id.
//   - A valid Layout refuses parts that do not fit, and never masks a number. Its
//     text form round-trips.
//   - A Generator's ids strictly increase, and every tick in them lies in its
//     window of ticks, whatever the clocks do.
//
// Most programs should use package [snowfence.example/snowfence/fence]. It claims worker ids from a
// store, with windows that never overlap. Two generators with one worker id and overlapping windows
// repeat each other's ids, and this package can't know. So use a Generator by itself only where
// something else keeps windows apart. [NewGenerator] refuses to guess a worker or a window.
//
// # What it leaves alone
//
// This package does no I/O, starts no goroutine of its own accord and keeps no package
// state. It reads time and randomness only through [Clock] and [GeneratorConfig]. It
// needs only the standard library.
package snowfence
