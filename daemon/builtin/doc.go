// Package builtin has the kinds of ids that the program serves: fenced ids, numbers that a store
// counts, on registers of its own or in the tables and keys of other systems, plain UUIDs, ULIDs and
// ObjectIDs without a store, and opaque texts of another generator's ids. Each is a row of one table.
// It reads its settings, opens its stores or databases, and adapts a holder, a counter or a library to package
// kind.
package builtin
