// Package sqlstore keeps registers in one table of a PostgreSQL, MySQL or MariaDB
// server, through database/sql. It keeps the contract of package store. The store is
// lossy, because failover is asynchronous more often than not. Its operator can assert
// otherwise.
//
//	s, err := sqlstore.OpenURL(ctx, "postgres://me@host/database", sqlstore.Driver{
//		Connector: func(server sqlstore.Server) (driver.Connector, error) { … },
//	})
//
// Programs import the driver. The program brings pgx or go-sql-driver as a
// [Driver], or hands in a pool of its own as Config.DB.
//
// docs/engines.md is for operators: the settings of a server and their effects, the
// rights of the user, sizes, and backups.
//
// # The server
//
// The server keeps every acknowledged swap that is older than the declared loss. With
// Endpoints every new connection reads its settings, and lasts a minute; with DB one
// connection does. Each swap and each Get compares them again. These are refused with a
// [*ServerError]:
//
//   - a standby, a replica, and a server that is read-only. Each Get asks again, since
//     a go-between may send reads to a replica.
//   - fsync=off, and other settings that can lose more than is declared
//   - full_page_writes=off and innodb_doublewrite=OFF. A loss that is given excuses them,
//     and fsync=off, where a crashed machine never comes back with its own disk.
//   - MySQL's READ UNCOMMITTED
//   - a table that is UNLOGGED, or of another shape
//   - a setting that matters and that the server does not report
//
// # Loss
//
// Loss is the greatest age of an acknowledged swap that a failover or a crash can take
// away, 15 s by default. The server's settings can't bound it: the person or program that
// promotes a replica must promote none that lags by more than 10 s. Package fence uses
// a bound only when it is older than the loss, so ids stay unique through such a
// failover. It wants a window above three losses, and refuses the 5 s of a pinned
// worker id. A primary that was replaced and still acknowledges writes is outside the
// promise.
//
// durable=true asserts that nothing acknowledged is ever lost: there is no failover, or
// it is synchronous and goes only to a replica that has everything.
//
// # Swaps
//
// A swap is one statement in a transaction of its own. The server locks the row,
// compares the version, and reports how many rows it changed: one or none. Nothing stays
// in the session, so PgBouncer may stand between. The statement itself compares settings that its other
// clients leave there by SET with the judged ones: in another session it is without effect, and the call
// returns a [*ServerError] that names the setting. Each Get does the same. Statements name the table's
// schema, which is looked for once, when the store is opened. A version is 128 random bits that each
// swap writes. So it does not repeat, not even after a restored backup.
//
// # Storage
//
// One table of three columns: key, token, value. Open creates it if it is missing;
// [DDL] is for operators who create it by hand. It is never altered, and rows are never deleted.
//
// # The URL
//
//	postgres://user[:password]@host[:port][,host[:port]…]/database[?key=value&…]
//	mysql://…      the same; postgresql:// and mariadb:// are other names
//
//	table=name         the table, or schema.name; snowfence_registers
//	loss=15s           how old a write may be that a failure takes away
//	durable=true       asserts that none is lost; excludes loss
//
// The default port is 5432 or 3306. Several hosts are the primary and its replicas: they are tried in
// turn until it answers. Two primaries in one list are two stores, and ids can repeat. The keys user,
// password-file, tls, ca, cert and key mean the same in every engine. The password file is read at
// every new connection.
package sqlstore
