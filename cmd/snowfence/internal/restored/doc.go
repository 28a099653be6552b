// Package restored compares a store with what was given out: ids, numbers of
// counters, and the journals of this host. A store that is behind them was
// restored from a backup, and would give them again.
package restored
