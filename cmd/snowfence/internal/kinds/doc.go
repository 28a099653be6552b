// Package kinds has the kinds of ids that the program serves beside fenced ones: numbers that
// a store counts. Each reads its settings, and adapts a counter to package kind.
package kinds
