// Package clock is the clock that a process goes by: the machine's.
//
// Programs built with the tag faultclock go by a clock that tests can set off,
// without a right to set the machine's: the file that the variable
// SNOWFENCE_CLOCK_OFFSET_FILE names holds a duration such as -1h, which is
// added to the machine's wall clock. It is read again as it changes, at most
// once a millisecond. The monotonic clock stays as it is. No other code differs
// in such a program, and without the tag the variable means nothing.
package clock
