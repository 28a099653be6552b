// Package tinyid reserves numbers from tiny_id_info, the table of Didi's tinyid, on MySQL and
// MariaDB. Servers of tinyid may count on the same row at the same time: no number is given
// twice. A reservation is one transaction, three statements and a flush of the database, and
// again for each other writer that came first.
//
//	source, err := tinyid.Open(ctx, tinyid.Config{DB: db, BizType: "orders"})
//	segments, err := counter.NewSegments(ctx, source, counter.SegmentsConfig{
//		Config: counter.Config{Name: "orders"}, Step: source.Step(),
//	})
//	id, err := segments.Next(ctx)
//
// The caller brings the driver. The table is tinyid's own, tiny_id_info.
//
// # Statements
//
// A try reads the row and swaps it, as tinyid does, at READ COMMITTED:
//
//	select id, max_id, step, delta, remainder, version from tiny_id_info where biz_type = ?
//	update tiny_id_info set max_id= ?, update_time=now(), version=version+1
//	  where id=? and max_id=? and version=? and biz_type=?
//
// It takes effect only while max_id and version equal the read ones. So of two writers
// that read the same, one changes no row, and tries again. The row is read once more before the
// commit: without strict mode a server stores less than it was given in a column that is too narrow.
// The range is (old max_id, new max_id],
// and of it the numbers that leave the remainder when they are divided by delta. With several
// databases each has a remainder of its own, and one source.
//
// The new max_id is a step beyond the old one, or a multiple of it: as many steps as are needed,
// rounded down, and at least as many as hold a number. A multiple is safe because every writer
// compares with the max_id that it has read, whatever the amount was.
//
// A transaction whose outcome is unknown is given up: its numbers are a gap.
//
// Numbers increase in the order of time, so the source may serve [counter.NewTickets]. Then the
// step should be delta: the rest of a step is a gap there.
//
// # Limits
//
// A database that loses a committed transaction repeats its numbers, as it does for tinyid: by a
// failover to a replica that lags, a restored dump, or a crash without a flush at each commit. A
// process refuses to go below the greatest max_id that it has read, with a
// *[counter.BackwardsError]. It knows nothing of other processes. A server with
// binlog_format=STATEMENT refuses writes at READ COMMITTED, tinyid's too.
package tinyid
