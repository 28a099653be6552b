// Package store is the one thing that Snowfence asks of a database: a set of
// registers with compare-and-swap. Worker leases and the layout of a namespace
// stand on it, on every engine.
//
// A [Store] promises five things, and everything above is built on these alone:
//
//   - Swap is linearizable: of the swaps that name one [Version] of one key at
//     most one takes effect, and it takes effect at once, whole or not at all.
//   - An acknowledged Swap is durable, or the engine declares in its [Traits] how
//     much it can lose.
//   - A [Version] never repeats for a key, not even after the store was rolled
//     back to an earlier state. So a guard that was read before a rollback differs
//     from every version written after it. A lossy engine may draw the version
//     before it sends the swap. Then nothing on the way to its server may deliver
//     an acknowledged request again: after a rollback a late copy would take
//     effect under the same version. TCP delivers none. A proxy that hedges does.
//   - [ErrConflict] is final for one request: the store refused it, for good.
//     Something on the way may have sent the same swap twice, and the other copy may
//     have taken effect. So a caller that must know reads the register. Every other
//     error leaves the outcome unknown.
//   - Nothing is ever deleted. A register that was seen is there for good, and
//     an engine refuses a server that is set up to drop some: to evict, to
//     expire, to keep the newest only.
//
// Get and List may be stale: a caller that reads and then swaps under the version
// that it read gets ErrConflict after a stale read. But some reads decide: whether a
// swap took effect, whether the namespace's record is unchanged, and whether a
// journal's term goes on. So an entry that Get returns is as safe as an acknowledged
// swap. On a lossy store Get does not show an entry that an earlier failure took away:
// the engine reads from its primary or leader, or after a sync.
//
// Engines live in packages of their own: store/memstore is the reference, and
// store/filestore the embedded default. store/storetest holds the rules that
// an engine must pass, one by one, and store/faultstore makes any store fail
// on purpose.
package store
