// Package sqltest holds the tests that need a real PostgreSQL, MariaDB or Redis and their drivers,
// which the root module does not require: of store/sqlstore, and of the counters in other systems'
// tables and keys, beside those systems' own statements.
//
// Tests that leave their server as it was share one of each kind, with a database of their own. The
// others start a server themselves.
package sqltest
