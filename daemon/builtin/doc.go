// Package builtin has the kinds of ids that the program serves beside fenced ones: numbers that
// a store counts, on registers of its own or in the tables and keys of other systems, plain
// UUIDs, ULIDs and ObjectIDs, which need no store, and opaque texts of another generator's ids.
// Each reads its settings, opens what it needs, and adapts a counter or a library to package kind.
package builtin
