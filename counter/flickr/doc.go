// Package flickr draws numbers from ticket servers as Flickr runs them: Tickets64 on two, three
// or more MySQL or MariaDB servers. Other clients may draw from the same servers at the same
// time: no number is given twice. A number is one statement, and a flush of the database where
// the table is InnoDB. A server that fails is skipped for a while, and then taken back.
//
//	source, err := flickr.Open(ctx, flickr.Config{Servers: []flickr.Server{{Name: "a", DB: a}, {Name: "b", DB: b}}})
//	tickets := counter.NewTickets(source, counter.Config{Name: "photos"})
//	id, err := tickets.Next(ctx)
//
// Numbers of several servers are unique, but not ordered: each server counts at its own pace. So
// numbers increase neither within one Fill, nor from one call to the next. Only with one server, or of
// one server, they increase in the order of time.
//
// The caller brings the driver, whose Result must report LAST_INSERT_ID(). The table is Flickr's
// own, Tickets64. The statement of a number is Flickr's too, with a condition on the settings in it:
//
//	REPLACE INTO Tickets64 (stub) VALUES ('a');
//
// # Settings of the servers
//
// Each server has an auto_increment_offset of its own, from 1 to the auto_increment_increment.
// That is the same on all servers, and at least their number. A larger one leaves room for more
// servers. So every server has a residue class of its own. The settings of each server are read
// before its first number, together with autocommit, which must be 1. They can change later, or
// be others on another connection. So the REPLACE stores a NULL, and fails, unless they equal the ones
// read before, on its connection and for new ones. A server whose settings changed is not asked again.
// With a binary log binlog_format must be ROW or MIXED: a replica that runs the statement itself would
// judge its own settings, and stop. And every number is held against its server's class, and given to
// no one if it lies outside.
//
// To change the increment, or the offsets: stop all clients, of every kind. On every server set
// AUTO_INCREMENT of Tickets64 above the greatest number of all servers, and then the settings, also in
// its configuration. Then start the clients. Without the first step the classes of the new increment
// hold numbers that another server gave before. A client that keeps its connections keeps the old
// increment.
//
// # Failures
//
// Each call asks the servers in turn, beginning with another one each time. A server gets ten
// tries within the timeout, since InnoDB may end a REPLACE by a deadlock. Then it is skipped, and
// the next one is asked. So a call stalls for no longer than the timeout for each server that
// hangs. It does so again when the server is due to be tried again. When only skipped servers are left,
// they are asked as well. A statement whose outcome is unknown is a gap.
//
// # What is not promised
//
// A server that comes back without its greatest number repeats numbers, for any client: it was
// restored, or it crashed without a flush at each commit, as MyISAM does. InnoDB before MySQL 8.0
// and MariaDB 10.2.4 counts on from the one row at a restart, which need not be the greatest. A
// process that has seen a greater number of that server draws no more from it, with a
// *[counter.BackwardsError]: set AUTO_INCREMENT above all numbers in use, and start the process
// again. It knows nothing of other processes.
package flickr
