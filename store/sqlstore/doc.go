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
// The server locks the row, compares with its newest version, and says how many
// rows it has changed: one or none. Nothing is read first, nothing is kept in
// the session, and no statement is prepared on purpose, so that a pooler in
// transaction mode (PgBouncer) may stand in between. A version is 128 random
// bits that every swap writes anew; it does not repeat after a failover or a
// restored backup either.
//
// At PostgreSQL's default isolation, READ COMMITTED, and at MySQL's levels from
// READ COMMITTED on, a swap that comes second finds no row. At PostgreSQL's
// REPEATABLE READ and above it may fail with a serialization failure instead,
// which is an error without meaning: the caller reads again. That is right, and
// slower.
//
// MySQL's READ UNCOMMITTED is refused. A swap that hangs at its commit is shown
// there, to its own sender too, who takes it for acknowledged; a crash then takes
// it back. PostgreSQL's level of that name is READ COMMITTED.
//
// database/sql sends a statement again if the driver returns driver.ErrBadConn.
// pgx and go-sql-driver do so only if not a byte was written or, go-sql-driver
// with rejectReadOnly, if the server said that it refused. A driver that does
// it at other times is none for this package.
//
// # What must be true of the server
//
// No acknowledged swap may be lost that is older than the declared loss. What
// can be seen of that is judged: with Endpoints at every new connection, which
// are replaced after a minute, with DB once. Refused with a [*ServerError] are
//
//   - a standby or replica, and a server that is read-only
//   - PostgreSQL with fsync off, unless a loss is given; with full_page_writes
//     off, unless a loss or whole-pages=true is given; with synchronous_commit off
//     where the store is durable, or where the loss is below three times
//     wal_writer_delay; where the store is durable, with synchronous_commit local
//     or remote_write beside synchronous standbys; with data_sync_retry,
//     zero_damaged_pages or ignore_checksum_failure on
//   - MySQL at READ UNCOMMITTED, or at a level that it does not tell; with
//     autocommit off; with innodb_force_recovery; with wsrep_on off in a node of a
//     Galera cluster
//   - MySQL with a binary log and sync_binlog other than 1, unless a loss is given;
//     with innodb_flush_log_at_trx_commit other than 1, where the store is durable
//     or the loss is below two times innodb_flush_log_at_timeout; with
//     innodb_flush_method nosync or littlesync, unless a loss is given; with
//     innodb_doublewrite OFF or DETECT_ONLY, unless a loss or whole-pages=true is
//     given
//   - MySQL without a binary log, where the store is durable: InnoDB alone shows
//     a commit to readers before it is on the disk; and with semi-synchronous
//     replication that waits AFTER_COMMIT, which shows it before a replica has it,
//     or that gives up waiting within a day
//   - a table of another shape, an UNLOGGED one, one with row security, one in an
//     engine other than InnoDB
//
// A connection may reach another server later: a go-between sends reads to a
// replica, or the primary is replaced and the connection stays. So each Get asks
// the server that answers it whether it is a standby or read-only, and fails if it
// is. A replica may show what the failover to another one takes away.
//
// What can't be seen is the operator's: that disks keep what they have synced,
// and what a failover takes away. A pool that is handed in, as DB, must make all
// its connections alike.
//
// A crash of the machine can leave a page half old and half new, and so take back
// a register of any age. So full_page_writes and innodb_doublewrite count like
// fsync. Storage that never leaves a page half written does without them (ZFS,
// Aurora, Amazon's Optimized Writes), but can't be told from other storage:
// whole-pages=true asserts it, and goes with durable and with loss. It excuses
// these two alone. A loss excuses them as well, and fsync besides, but only where
// a machine that crashed never comes back with its own disk.
//
// # Loss
//
// Loss is the greatest age of an acknowledged swap that a failover or a crash
// can take away: the greatest lag of a replica that would be promoted, and some
// more for how that is measured. It is 15 s unless said otherwise. Nothing in the
// server bounds the lag; see to it that whatever promotes replicas, person or
// program, promotes none that lags by more than 10 s. Package fence uses a bound
// only when it is older than the loss, and asks for a window of more than three
// losses. The default window of a pinned worker, 5 s, is not; give one of more
// than 45 s. A primary that was replaced and still acknowledges is outside this.
//
// durable=true asserts that nothing acknowledged is ever lost: either there is
// no failover, or it is synchronous and only goes to a replica that has
// everything (PostgreSQL: synchronous_standby_names, and a failover that obeys
// it; MySQL: semi-synchronous with AFTER_SYNC and a timeout that is never
// reached). Binary log filters must not leave the database out.
//
// With synchronous standbys PostgreSQL shows a commit only when they have it.
// But when the wait is broken off it shows it at once: by a request to cancel
// the statement, or by a restart. A program's own driver must not ask to cancel
// when a context ends (pgx does, unless its dialer refuses); the program
// snowfence does not. A primary that crashed while it waited, and came back
// alone, must not then be failed over from before its standbys have caught up. An
// administrator's pg_cancel_backend on a commit that waits makes PostgreSQL
// acknowledge it, with no more than a warning: don't. While standbys are away each
// swap that was given up leaves a backend waiting, up to max_connections.
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
