// Package sqlfunc writes plain SQL that reads the ids of a layout: functions for PostgreSQL,
// MySQL and MariaDB, and a view for SQLite. They need no extension and no special rights, so
// they work on a managed database.
//
// What they return is exact, as [snowfence.Layout.Decompose] and [snowfence.Layout.TimeOf] have
// it. An integer that is not of the layout gives NULL, as does a time that the database can't
// hold. The functions from and until give the bounds of [snowfence.Layout.Between].
//
// The package is pure: it returns text, and talks to no database.
package sqlfunc
