// Command simulate runs drawn plans through package sim, on all processors, each
// plan in one goroutine, and says what it found.
//
//	go run ./internal/sim/simulate -seeds 5000
//	go run ./internal/sim/simulate -seeds 300000 -state FILE
//	go run ./internal/sim/simulate -replay FILE
//	go run ./internal/sim/simulate -draw SEED
//
// With a state file it goes on where it was interrupted, or up to 500 seeds before.
//
// When a plan breaks a rule it prints the seed and what was broken, shrinks the plan,
// prints it as a scenario and exits with 1. To replay that, put the text from its first
// line, "# Shrunk from seed", to the end into a file: -replay tells what happens step by
// step, and ends with the rule that is broken. The commands stand below the scenario.
// -draw prints the plan of a seed as it was drawn, which -replay takes too.
//
// Once the bug is mended the scenario belongs into internal/sim/testdata. Its first lines
// become a claim in whole sentences, of which the file's name is the short form; three
// expectations at least are added, one of them of duplicates; and what breaks it is named
// in scenario_files_test.go or scenario_lapses_test.go. Tests hold that.
package main
