// Package testkit runs real processes for tests: it builds the program, starts
// daemons on free ports of the loopback interface, kills, pauses and continues
// them, and ends by their own process id whatever a test leaves running.
//
// Its program duplicates looks for equal ids in files of ids, so that what a
// fault test collected is judged by something other than the test.
package testkit
