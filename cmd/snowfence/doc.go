// Command snowfence hands out unique 64-bit ids that no clock can make repeat,
// reads ids back, and plans how to divide their bits. Run it without
// arguments to see its verbs.
//
// A verb is flags, one call and printing. The files of the verbs:
//
//	serve, ready, doctor, token daemon.go
//	next                        next.go
//	exec                        exec.go
//	series                      series.go
//	decode                      decode.go
//	plan                        plan.go
//	bounds, sql                 bounds.go
//	check                       check.go
//	merge-check                 merge_check.go
//	workers                     workers.go, workers_import.go
//	namespace                   namespace.go, namespace_issued.go (ids that were given out)
//	counters                    counters.go
//	config, version             config.go
//
// The files behind the verbs:
//
//	main.go      the tree of verbs, interrupts, the terminal
//	exit.go      exit codes, and the classes of errors
//	flags.go     kinds of flags, settings as flags, arguments
//	id_flags.go  flags of ids: --layout, and sources of ids
//	site.go      flags that name a namespace, and its store
//	output.go    the report of a verb as text or JSON, notes, warnings, the audit, progress, writing
//
// The packages below internal do not know the command line: idtext shows ids, registers shows
// and changes the content of a store, page lays out text, doctor looks for troubles, manager
// talks to systemd, wrap runs the program of exec, sqlfunc writes SQL.
package main
