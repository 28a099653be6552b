// Package counters draws schedules for counters: processes that start, crash, end and lose
// replies, swaps that arrive late or twice, stores that fail over, clocks that step. An operator
// sets the counter under way. With a guard the store is also put back to a backup. Processes
// differ in step and limit. The counters are the shipped ones. They run in the virtual time of a
// testing/synctest bubble, so the whole package is a test:
//
//	go test ./internal/sim/counters -seeds 5000 -from 1000000
//
// The rules: no number is given twice; tickets increase in the order of time; a text has the
// date of its process's clock; a process that begins after an operator has raised the counter
// gives no number below.
package counters
