// Command snowfence hands out unique 64-bit ids that no clock can make repeat,
// reads ids back, and plans how to divide their bits. Run it without
// arguments to see its verbs.
//
// A verb is flags, one call and printing. Each has a file of its name, and:
//
//	namespace verify    namespace.go, namespace_issued.go    registers, and ids that were given out
//	workers             workers.go, workers_operate.go (release, quarantine), workers_import.go
//	check, merge-check  also check_print.go, merge_check_print.go: their texts
//	decode              decode.go, decode_print.go: its text
//
// Behind the verbs:
//
//	main.go, exit.go    the tree of verbs, interrupts, exit codes
//	flags.go            kinds of flags, settings as flags, arguments
//	id_flags.go         flags of ids: --layout, and sources of ids
//	site.go             flags that name a namespace, and the store that is opened for it
//	output.go           the report of a verb as text or JSON, notes, warnings, the audit
//	waits.go            flags and questions of verbs that write, and words while waiting
//	progress.go         how far sorting is
//
// The packages below internal do not know the command line. internal/registers has the JSON and
// the text of whatever a store keeps.
package main
