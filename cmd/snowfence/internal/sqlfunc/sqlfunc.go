package sqlfunc

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"snowfence.example/snowfence"
)

// Database is a kind of database, as the command line names it.
type Database string

// The databases.
const (
	Postgres Database = "postgres" // PostgreSQL 14 and newer
	MySQL    Database = "mysql"    // MySQL 8 and MariaDB
	SQLite   Database = "sqlite"
)

// Databases returns all databases.
func Databases() []Database { return []Database{Postgres, MySQL, SQLite} }

// Options are the layout and the names of the functions.
type Options struct {
	// Layout is the layout of the ids, at most 64 bits and not wide.
	Layout snowfence.Layout
	// Prefix begins the name of each function or view. Empty means "snowfence".
	Prefix string
	// Table and Column are where the view for SQLite finds ids. Empty means Prefix and "id".
	// The other databases ignore them.
	Table, Column string
}

// Write returns the SQL for a database. A *[snowfence.LayoutError] is returned for an invalid
// layout, and for one that is wide or has more than 64 bits. Another error is returned for an unknown database,
// and for a name that a database does not take without quotes.
func Write(database Database, o Options) (string, error) {
	if n := o.Layout.TotalBits(); o.Layout.Wide || n > 64 {
		return "", &snowfence.LayoutError{Field: "total", Value: fmt.Sprintf("%d bits", n), Limit: "at most 64 bits, and not wide", Reason: "an integer of a database has no more"}
	}
	if err := o.Layout.Validate(); err != nil {
		return "", err
	}
	o.Prefix = cmp.Or(o.Prefix, "snowfence")
	o.Table, o.Column = cmp.Or(o.Table, o.Prefix), cmp.Or(o.Column, "id")
	word := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,51}$`) // PostgreSQL cuts names, such as 52 and _datacenter, after 63
	for _, name := range [][2]string{{"prefix", o.Prefix}, {"table", o.Table}, {"column", o.Column}} {
		if !word.MatchString(name[1]) {
			return "", fmt.Errorf("%s is %q, must be 1 to 52 of a-z, A-Z, 0-9 and _, the first no digit", name[0], name[1])
		}
	}
	s := &script{Options: o, id: "id", bits: "id", unit: o.Layout.Unit.Microseconds()}
	s.line("-- Reads ids of the layout %s.", o.Layout)
	if o.Layout.Unsigned {
		s.line("-- A negative integer is an id with the 64th bit.")
	} else {
		s.line("-- An integer that is not of the layout gives NULL.")
	}
	s.line("-- Made by: snowfence sql %s --layout %s --prefix %s", database, o.Layout, o.Prefix)
	switch database {
	case Postgres:
		s.postgres()
	case MySQL:
		s.mysql()
	case SQLite:
		s.sqlite()
	default:
		return "", fmt.Errorf("database is %q, must be one of %q", database, Databases())
	}
	return s.String(), nil
}

// script is a text that grows.
type script struct {
	Options
	strings.Builder
	id   string // the expression of the id, in the database's own number
	bits string // the expression of its 64 bits, for shifts and masks
	unit int64  // a tick in microseconds
}

func (s *script) line(format string, args ...any) { fmt.Fprintf(&s.Builder, format+"\n", args...) }

// postgres writes SQL functions. They are not STRICT, except for those of bounds: PostgreSQL
// then puts their expressions into the statement, over ten times as fast as calls. These
// expressions give NULL for NULL by themselves.
func (s *script) postgres() {
	s.line("-- For PostgreSQL 14 and newer. It needs the right to create functions in a schema.")
	// timestamptz ends in 294276, and 64 bits of microseconds since 1900 in 294171.
	end := s.before(294000)
	function := func(x expression, argument, result, strict string) {
		s.line("\n-- %s\nCREATE OR REPLACE FUNCTION %s_%s(%s) RETURNS %s\nLANGUAGE sql IMMUTABLE %sPARALLEL SAFE AS $$\n  SELECT %s\n$$;",
			x.about, s.Prefix, x.name, argument, result, strict, x.sql)
	}
	for _, x := range s.numbers() {
		function(x, "id bigint", "bigint", "")
	}
	// PostgreSQL multiplies an interval by a double. Both products are exact: the first is below
	// 2^53, and the second is a multiple of 2^20. Without days no zone of a session matters.
	const low = 20
	shift, width := s.Layout.Shift(snowfence.Time), s.Layout.Bits(snowfence.Time)
	at := fmt.Sprintf("(timestamp '%s'\n      + %s * interval '%d microseconds'", s.epoch(), s.cut(shift, min(width, low)), s.unit)
	if width > low {
		at += fmt.Sprintf("\n      + %s * interval '%d microseconds'", s.cut(shift+low, width-low), s.unit<<low)
	}
	function(s.time(end, at+") AT TIME ZONE 'UTC'"), "id bigint", "timestamptz", "")
	// The numerics of extract are exact, and take infinite moments.
	tick := fmt.Sprintf("least(greatest(div(extract(epoch FROM moment AT TIME ZONE 'UTC') * 1000000 - (%d), %d), 0), %d)::bigint",
		s.Layout.Epoch.UnixMicro()-s.unit+1, s.unit, s.Layout.HorizonTick())
	for _, x := range s.bounds(tick, " UTC") {
		function(x, "moment timestamptz", "bigint", "STRICT ")
	}
}

// mysql writes stored functions. They take an id as a DECIMAL, which holds signed and unsigned
// integers.
func (s *script) mysql() {
	s.line("-- For MySQL 8 and MariaDB, and columns of BIGINT and BIGINT UNSIGNED. It needs the rights CREATE")
	s.line("-- ROUTINE and ALTER ROUTINE. With a binary log a server may want the setting")
	s.line("-- log_bin_trust_function_creators = 1, a parameter of managed databases.")
	s.line("-- Times are DATETIME(6) in UTC, whatever the zone of the session.")
	s.bits = "CAST(id AS UNSIGNED)"
	if s.Layout.Unsigned {
		s.bits = "CAST(IF(id < 0, id + 18446744073709551616, id) AS UNSIGNED)"
	}
	end := s.before(10000)
	function := func(x expression, argument, result string) {
		s.line("\n-- %s\nDROP FUNCTION IF EXISTS %s_%s;\nCREATE FUNCTION %[2]s_%[3]s(%s) RETURNS %s\nDETERMINISTIC NO SQL SQL SECURITY INVOKER\nRETURN\n  %s;",
			x.about, s.Prefix, x.name, argument, result, x.sql)
	}
	for _, x := range s.numbers() {
		function(x, "id DECIMAL(20)", "BIGINT")
	}
	at := fmt.Sprintf("TIMESTAMP'%s' + INTERVAL %s * %d MICROSECOND", s.epoch(), s.field(snowfence.Time), s.unit)
	function(s.time(end, at), "id DECIMAL(20)", "DATETIME(6)")
	tick := fmt.Sprintf("LEAST(GREATEST((TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'%s', moment) + %d) DIV %d, 0), %d)", s.epoch(), s.unit-1, s.unit, s.Layout.HorizonTick())
	for _, x := range s.bounds(tick, "") {
		function(x, "moment DATETIME(6)", "BIGINT")
	}
}

// sqlite writes a view, since SQLite has no stored functions.
func (s *script) sqlite() {
	s.line("--   --table %s --column %s", s.Table, s.Column)
	s.line("-- SQLite has no stored functions, so this is a view. The column holds integers.")
	s.line("-- Times are text in UTC, to the microsecond. For scans by key: snowfence bounds FROM TO")
	s.id = `"` + s.Column + `"`
	s.bits = s.id
	end := s.before(10000)
	s.line("CREATE VIEW %s_ids AS SELECT\n  %s AS id", s.Prefix, s.id)
	// SQLite's own times have milliseconds, so the microseconds are appended. They count from
	// the second of the epoch, so they are never negative.
	micros := fmt.Sprintf("(%s * %d + %d)", s.field(snowfence.Time), s.unit, s.Layout.Epoch.Nanosecond()/1000)
	at := fmt.Sprintf("strftime('%%Y-%%m-%%dT%%H:%%M:%%S', %d + %s / 1000000, 'unixepoch')\n      || printf('.%%06dZ', %[2]s %% 1000000)", s.Layout.Epoch.Unix(), micros)
	for _, x := range append(s.numbers(), s.time(end, at)) {
		s.line("  -- %s\n  , %s AS %s", x.about, x.sql, x.name)
	}
	s.line("FROM \"%s\";", s.Table)
}

// expression is a value as SQL, with a name and a comment.
type expression struct{ name, about, sql string }

// numbers returns the parts of an id that are numbers, the tick first.
func (s *script) numbers() []expression {
	all := []expression{{"tick", fmt.Sprintf("ticks of %s since %s", s.Layout.Unit, s.Layout.Epoch.UTC().Format(time.RFC3339Nano)), s.when("", s.field(snowfence.Time))}}
	for _, f := range s.Layout.Fields {
		if f.Kind != snowfence.Time {
			all = append(all, expression{f.Kind.String(), fmt.Sprintf("%s, 0 to %d", f.Kind, uint64(1)<<f.Bits-1), s.when("", s.field(f.Kind))})
		}
	}
	return all
}

// time returns the part that is a time, where the condition end holds.
func (s *script) time(end, sql string) expression {
	return expression{"time", "the instant at which the tick begins", s.when(end, sql)}
}

// bounds returns the pair for scans by key. They are made of the first tick at or after a
// moment, from 0 to the horizon.
func (s *script) bounds(tick, zone string) []expression {
	if top := s.Layout.Fields[0]; top.Kind != snowfence.Time {
		s.line("\n-- No bounds: the %s is above the time, so the ids of a span are not one range.", top.Kind)
		return nil
	}
	shift := s.Layout.Shift(snowfence.Time)
	scan := fmt.Sprintf("\n-- WHERE id BETWEEN %s_from('2026-11-01%s') AND %[1]s_until('2026-12-01%[2]s')", s.Prefix, zone)
	return []expression{
		{"from", "the lowest id at or after a moment, NULL from the horizon on:" + scan, fmt.Sprintf("NULLIF(%s, %d) << %d", tick, s.Layout.HorizonTick(), shift)},
		{"until", "the highest id before a moment, NULL up to the epoch", fmt.Sprintf("((NULLIF(%s, 0) - 1) << %d) | %d", tick, shift, uint64(1)<<shift-1)},
	}
}

// field is the expression of a field of the id.
func (s *script) field(kind snowfence.FieldKind) string {
	return s.cut(s.Layout.Shift(kind), s.Layout.Bits(kind))
}

// cut takes bits from a position on. The mask also drops the copies of the sign that a shift to
// the right brings in.
func (s *script) cut(shift, width int) string {
	return fmt.Sprintf("((%s >> %d) & %d)", s.bits, shift, uint64(1)<<width-1)
}

// when is NULL for an id that is not of the layout, and where a further condition is false.
func (s *script) when(further, sql string) string {
	condition := fmt.Sprintf("%s BETWEEN 0 AND %d", s.id, uint64(1)<<s.Layout.TotalBits()-1)
	switch {
	case s.Layout.Unsigned && further == "":
		return sql
	case s.Layout.Unsigned: // its 64 bits hold every integer
		condition = further
	case further != "":
		condition += " AND " + further
	}
	return "CASE WHEN " + condition + "\n    THEN " + sql + " END"
}

// before is the condition that the time of an id is before a year, empty if it always is.
func (s *script) before(year int) string {
	last := s.Layout.TickAt(time.Date(year, 1, 1, 0, 0, 0, -1, time.UTC))
	if uint64(last) >= uint64(1)<<s.Layout.Bits(snowfence.Time)-1 {
		return ""
	}
	s.line("-- Times from the year %d on are NULL: the database can't hold them all.", year)
	return fmt.Sprintf("%s <= %d", s.field(snowfence.Time), last)
}

// epoch is the instant of tick 0 as SQL literals have it, in UTC.
func (s *script) epoch() string { return s.Layout.Epoch.UTC().Format("2006-01-02 15:04:05.999") }
