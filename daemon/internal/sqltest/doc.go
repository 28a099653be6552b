// Package sqltest holds the tests that need a real PostgreSQL, MariaDB or Redis and their drivers,
// which the root module does not require: of store/sqlstore, and of the counters in other systems'
// tables and keys, beside the systems' own statements.
//
// Tests share one careful and one hasty server of each kind, three ticket servers and a Redis, with a database or a prefix of
// their own. A test that changes the settings of a whole server sets them back, and runs alone. Tests
// that kill a server have their own, unless they run alone and start it again.
package sqltest
