// Package counters draws schedules for counters: processes that start, crash, end and lose
// replies, stores that fail over, clocks that step, earlier states that are restored below a guard.
// The counters are those that ship. They run in the virtual time of a testing/synctest bubble, so
// the whole package is a test:
//
//	go test ./internal/sim/counters -seeds 5000 -from 1000000
//
// The rules: no number is given twice; tickets increase in the order of time; a text has the
// date of its process's clock.
package counters
