// Package plan answers how the bits of an id should be divided.
//
// It works in both directions. [For] takes what is asked of an id and offers
// layouts, best first, or says which requirement to relax, and to what value.
// [Check] takes a layout, even one that cannot exist, and answers each claim
// made for it with the real number.
//
// It promises that every offered layout is valid, fits the bits asked for and
// meets every requirement, and that every relaxation, applied alone, makes the
// requirements fit. What misses the asked life narrowly is listed apart, with
// what it misses.
//
// The package is pure: no I/O, no clock, no randomness. Everything in it is
// safe for concurrent use.
package plan
