// Command simulate runs drawn plans through package sim, on all processors, each
// plan in one goroutine, and says what it found.
//
//	go run ./internal/sim/simulate -seeds 5000
//	go run ./internal/sim/simulate -seeds 300000 -state FILE
//	go run ./internal/sim/simulate -replay FILE
//
// With a state file it goes on where it was interrupted. When a plan breaks a
// rule it prints the seed and what was broken, shrinks the plan, prints it as a
// scenario and exits with 1; the scenario can be replayed, and belongs into
// testdata. A replay tells what happens step by step.
package main
