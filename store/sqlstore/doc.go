// Package sqlstore keeps registers in one table of a PostgreSQL, MySQL or
// MariaDB server, through database/sql. It promises what package store asks
// for; it is lossy, because failover is asynchronous more often than not,
// unless its operator asserts otherwise.
//
//	s, err := sqlstore.OpenURL(ctx, "postgres://me@host/database", sqlstore.Driver{
//		Connector: func(server sqlstore.Server) (driver.Connector, error) { … },
//	})
//
// The package imports no driver. The program brings pgx or go-sql-driver as a
// [Driver], or hands in a pool of its own as Config.DB.
//
// # How a swap is made
//
// A swap is one statement in a transaction of its own: an INSERT for the first
// version of a register, and for every other one
//
//	UPDATE snowfence_registers SET token = …, value = … WHERE key = … AND token = …
//
// The server locks the row, compares with its newest version, and says how many rows
// it has changed: one or none. Nothing is read first, kept in the session or prepared
// on purpose, so a pooler in transaction mode (PgBouncer) may stand in between. A
// version is 128 random bits that every swap writes, so it does not repeat after a
// failover or a restored backup.
//
// At PostgreSQL's READ COMMITTED, and at MySQL's levels from READ COMMITTED on, a swap
// that comes second finds no row. At PostgreSQL's REPEATABLE READ and above it may fail
// with a serialization failure instead: the caller reads again, which is right and
// slower. MySQL's READ UNCOMMITTED is refused: it shows a swap that hangs at its
// commit, to its own sender too, who takes it for acknowledged; a crash then takes it
// back. PostgreSQL's level of that name is READ COMMITTED.
//
// database/sql sends a statement again if the driver returns driver.ErrBadConn. pgx and
// go-sql-driver do so only if they wrote nothing or, go-sql-driver with rejectReadOnly,
// if the server said that it refused. Use no driver that does it at other times.
//
// # What must be true of the server
//
// No acknowledged swap may be lost that is older than the declared loss. The server's
// settings and the table's shape are judged: with Endpoints at every new connection,
// which lasts a minute, with DB once. One that can lose more is refused with a
// [*ServerError]: a standby, fsync off, a table that is UNLOGGED, and so on.
// docs/engines.md lists each setting, with what it can do. A setting that the server
// does not tell is refused as well where it matters.
//
// A connection may reach another server later: a go-between sends reads to a replica,
// or the primary is replaced and the connection stays. So each Get asks the server that
// answers it whether it is a standby or read-only, and fails if it is: a replica may
// show what the failover to another one takes away.
//
// The operator must see to the rest: that disks keep what they have synced, what a
// failover takes away, and that a pool which is handed in makes all connections alike.
//
// A crash of the machine can leave a page half old and half new, and so take back a
// register of any age. So full_page_writes and innodb_doublewrite count like fsync.
// Some storage never leaves a page half written (ZFS, Aurora, Amazon's Optimized
// Writes), and can't be told from other storage: whole-pages=true asserts it, with
// durable or with loss. It excuses these two alone. A loss excuses them as well, and
// fsync besides, but only where a machine that crashed never comes back with its own
// disk.
//
// # Loss
//
// Loss is the greatest age of an acknowledged swap that a failover or a crash can take
// away: the greatest lag of a replica that would be promoted, and some more for how that
// is measured. It is 15 s unless said otherwise. No setting of the server bounds the
// lag: whatever promotes replicas, person or program, must promote none that lags by
// more than 10 s. Package fence uses a bound only when it is older than the loss, and
// asks for a window of more than three losses. The default window of a pinned worker,
// 5 s, is not; give one of more than 45 s. A primary that was replaced and still
// acknowledges is outside this.
//
// durable=true asserts that nothing acknowledged is ever lost: either there is no
// failover, or it is synchronous and only goes to a replica that has everything
// (PostgreSQL: synchronous_standby_names, and a failover that obeys it; MySQL:
// semi-synchronous with AFTER_SYNC and a timeout that is never reached). Binary log
// filters must not leave the database out.
//
// With synchronous standbys PostgreSQL shows a commit only when they have it. But when
// the wait is broken off it shows it at once: by a request to cancel the statement, or
// by a restart. A program's own driver must not ask to cancel when a context ends (pgx
// does, unless its dialer refuses; the program snowfence's refuses). A primary that
// crashed while it waited, and came back alone, must not be failed over from before its
// standbys have caught up. An administrator's pg_cancel_backend on a commit that waits
// makes PostgreSQL acknowledge it, with no more than a warning: don't. While standbys
// are away each swap that was given up leaves a backend waiting, up to max_connections.
//
// # What it creates, and the rights it needs
//
// One table of three columns: key, token, value. Open creates it if it is
// missing, unless the config says that it has to exist; that needs CREATE on the
// schema or database. [DDL] prints the statement for those who create it by hand;
// then SELECT, INSERT and UPDATE on the table are all that is needed. A table that
// is there is never changed, and rows are never deleted. Two tables, and two
// databases, do not see each other.
//
// A register of 500 bytes takes about 800 bytes in PostgreSQL, whose autovacuum
// must keep up with the updates, and about 600 in InnoDB.
//
// # Backup and restore
//
// Any consistent backup will do: pg_dump, mariadb-dump --single-transaction, or
// a physical one. A restored backup takes back acknowledged swaps, whatever was
// asserted: see docs/engines.md. Guards from before a restore match nothing after it.
//
// # The URL
//
//	postgres://user[:password]@host[:port][,host[:port]…]/database[?key=value&…]
//	mysql://…      the same; postgresql:// and mariadb:// are other names
//
//	table=name         the table, or schema.name; snowfence_registers
//	loss=15s           how old a write may be that a failure takes away
//	durable=true       asserts that none is lost; excludes loss
//	whole-pages=true   asserts that storage never leaves a page half written
//
// The default port is 5432 or 3306. Several hosts are the servers of which one
// is the primary: they are tried in turn until one answers that is. Two
// primaries in one list are two stores, and must never be. The keys user,
// password-file, tls, ca, cert and key are those of every engine; see
// docs/engines.md. The password file is read at every new connection, so it may
// change.
package sqlstore
