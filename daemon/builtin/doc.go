// Package builtin has the kinds of ids that the program serves: fenced ones, numbers that a
// store counts, on registers of its own or in the tables and keys of other systems, plain
// UUIDs, ULIDs and ObjectIDs, which need no store, and opaque texts of another generator's ids.
// Each is a row of one table. It reads its settings, opens what it needs, and adapts a holder,
// a counter or a library to package kind.
package builtin
