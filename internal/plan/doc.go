// Package plan answers how the bits of an id should be divided.
//
// [For] takes the requirements of an id and offers layouts, best first, or shows which requirement to
// lower, and to which value. [Check] takes a layout, even one that cannot exist, and answers each claim
// made for it with the real number.
//
// Every offered layout is valid, fits the bits asked for and meets every requirement.
// Every relaxation, applied alone, makes the requirements fit.
//
// The package is pure: no I/O, no clock, no randomness. Everything in it is
// safe for concurrent use.
package plan
