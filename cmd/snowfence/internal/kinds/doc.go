// Package kinds has the kinds of ids that the program serves beside fenced ones: numbers that
// a store counts, on registers of its own or in the tables and keys of other systems. Each
// reads its settings, opens what it counts in, and adapts a counter to package kind.
package kinds
