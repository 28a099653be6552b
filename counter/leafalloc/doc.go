// Package leafalloc reserves numbers from leaf_alloc, the table of Meituan's Leaf, on MySQL,
// MariaDB and PostgreSQL. Servers of Leaf may count on the same row at the same time: no number
// is given twice. A reservation is one transaction, two statements and a flush of the database.
//
//	source, err := leafalloc.Open(ctx, leafalloc.Config{DB: db, Dialect: leafalloc.MySQL, Tag: "orders"})
//	segments, err := counter.NewSegments(ctx, source, counter.SegmentsConfig{
//		Config: counter.Config{Name: "orders"}, Step: source.Step(),
//	})
//	id, err := segments.Next(ctx)
//
// The caller brings the driver. The table is Leaf's own, leaf_alloc.
// On MySQL and MariaDB update_time has ON UPDATE CURRENT_TIMESTAMP besides, and the table's engine must
// have transactions, as InnoDB does: Open refuses MyISAM and the like. A program sets the row up as for
// Leaf, whose max_id is the next number: this package adds no tag.
//
// # Statements
//
// Both are Leaf's, in one transaction as there:
//
//	UPDATE leaf_alloc SET max_id = LAST_INSERT_ID(max_id) + ? WHERE biz_tag = ? -- PostgreSQL: max_id + ?
//	SELECT biz_tag, max_id, step FROM leaf_alloc WHERE biz_tag = ?
//
// LAST_INSERT_ID shows whether a column that is too narrow cut max_id, as a server without strict
// mode does. So the driver's Result must report it. The range is [max_id − amount, max_id). The UPDATE locks the row until the end of the
// transaction, so no other range begins in between. The amount is the step that was read last,
// or a multiple of it: as many steps as are needed, rounded down, and at least one. Leaf sends
// multiples of the step by the same statement when it adapts its step. Its safety does not
// depend on the step: the range is made of the amount that was sent. A new step in the table
// counts from the next reservation on.
//
// A transaction whose outcome is unknown is given up: its numbers are a gap.
//
// Numbers increase in the order of time, so the source may serve [counter.NewTickets]. Then the
// step should be 1: the rest of a step is a gap there.
//
// # What is not promised
//
// A database that loses a committed transaction repeats its numbers, as it does for Leaf: by a
// failover to a replica that lags, a restored dump, or a crash without a flush at each commit. A
// process refuses to go below the greatest max_id that it has read, with a
// *[counter.BackwardsError]. It knows nothing of other processes.
package leafalloc
