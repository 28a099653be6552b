package series

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"snowfence.example/snowfence/internal/sqlsession"
)

// A Dialect is the SQL that a server speaks.
type Dialect int

// The dialects. The zero value is invalid.
const (
	PostgreSQL Dialect = iota + 1
	MySQL              // and MariaDB
)

//go:embed tables.sql
var tables string

// statements are the texts of a dialect. All that a verb reads it locks: in MySQL a plain read may
// show a snapshot from before the row of the series was locked.
type statements struct {
	begin, patience, lock, now, head, advance         string // of a series
	offered, renew, reserve, look, end, audit, engine string // of its numbers, and of a table
}

// own prepares a transaction of a verb's own in PostgreSQL, whatever another client of a pooler left in the session: locks
// are not waited for without end, the commit lasts, and the tables are those of the user's own search path, no temporary ones.
const own = `SELECT pg_catalog.set_config('lock_timeout', '10s', true),
pg_catalog.set_config('synchronous_commit', COALESCE(NULLIF(pg_catalog.current_setting('synchronous_commit'), 'off'), 'on'), true),
pg_catalog.set_config('search_path', pg_catalog.concat_ws(', ', NULLIF(reset_val, ''), 'pg_temp'), true)
FROM pg_catalog.pg_settings WHERE name OPERATOR(pg_catalog.=) 'search_path'`

func (d Dialect) statements() statements {
	const series, number, same = "snowfence_series", "snowfence_series_number", " WHERE tenant = ? AND name = ?"
	patience, begin, engine := own, " ON CONFLICT (tenant, name) DO NOTHING", "SELECT relkind::text || relpersistence::text FROM pg_class WHERE oid = to_regclass(?)"
	now, numbered := "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint", func(text string) string { return sqlsession.Numbered(d == MySQL, text) }
	if d == MySQL {
		patience, begin, engine = "", " ON DUPLICATE KEY UPDATE name = VALUES(name)", "SELECT engine FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?"
		now = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))"
	}
	return statements{
		patience: patience,
		begin:    numbered("INSERT INTO " + series + " (tenant, name, prefix, first_number, next_number) VALUES (?, ?, ?, ?, ?)" + begin),
		head:     numbered("SELECT prefix, first_number, next_number FROM " + series + same),
		lock:     numbered("SELECT prefix, first_number, next_number FROM " + series + same + " FOR UPDATE"),
		now:      "SELECT " + now,
		advance:  numbered("UPDATE " + series + " SET next_number = ?" + same + " AND next_number = ?"),
		offered:  numbered("SELECT number, token FROM " + number + same + " AND state = 'reserved' AND (expires_at <= ? OR token = ?) ORDER BY number LIMIT 1 FOR UPDATE"),
		renew:    numbered("UPDATE " + number + " SET token = ?, changed_at = ?, expires_at = ?" + same + " AND number = ? AND token = ? AND state = 'reserved'"),
		reserve:  numbered("INSERT INTO " + number + " (tenant, name, number, token, changed_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)"),
		look:     numbered("SELECT state, reason, token, expires_at FROM " + number + same + " AND number = ? FOR UPDATE"),
		end:      numbered("UPDATE " + number + " SET state = ?, reason = ?, changed_at = ?" + same + " AND number = ? AND token = ? AND state = 'reserved'"),
		audit: numbered("SELECT number, CASE WHEN state = 'reserved' AND expires_at <= " + now + " THEN 'offered' ELSE state END, reason, changed_at FROM " +
			number + same + " AND number >= ? AND number < ?"),
		engine: numbered(engine),
	}
}

// DDL returns the statements that create the two tables, for operators who create them by hand.
func DDL(d Dialect) []string {
	// Names compare by their bytes, whatever the locale of the server is or becomes.
	types := strings.NewReplacer("{name}", `text COLLATE "C"`, "{text}", "text", "{engine}", "")
	if d == MySQL {
		types = strings.NewReplacer("{name}", "VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin",
			"{text}", "VARCHAR(1000) CHARACTER SET utf8mb4", "{engine}", " ENGINE = InnoDB")
	}
	return strings.Split(strings.TrimSuffix(types.Replace(tables), ";\n"), ";\n")
}

// byHand shows how somebody else can make the tables.
const byHand = "'snowfence namespace schema' prints the statements for a user who may create tables"

// Create makes missing tables, and leaves existing ones. It returns an error
// for a table that a crash can empty, or that has no transactions.
func Create(ctx context.Context, db *sql.DB, d Dialect) error {
	for i, table := range tableNames() {
		found, err := find(ctx, db, d, table)
		if !found && err == nil { // of two that create it at the same time one may fail
			_, failed := db.ExecContext(ctx, DDL(d)[i])
			if found, err = find(ctx, db, d, table); !found && err == nil {
				err = fmt.Errorf("series: create table %s: %s: %w", table, byHand, cmp.Or(failed, errors.New("it is not there after that")))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Check returns an error unless both tables are there and fit. It creates nothing.
func Check(ctx context.Context, db *sql.DB, d Dialect) error {
	for _, table := range tableNames() {
		found, err := find(ctx, db, d, table)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("series: table %s is not there, as far as the user may see: %s", table, byHand)
		}
	}
	return nil
}

// tableNames are the tables, in the order of [DDL].
func tableNames() []string { return []string{"snowfence_series", "snowfence_series_number"} }

// find reports whether a table is there. It returns an error if the table does not fit.
func find(ctx context.Context, db *sql.DB, d Dialect, table string) (bool, error) {
	engine, fit := "", map[Dialect]string{PostgreSQL: "rp", MySQL: "InnoDB"}[d] // rp: ordinary and persistent
	switch err := db.QueryRowContext(ctx, d.statements().engine, table).Scan(&engine); {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("series: look for table %s: %w", table, err)
	case engine != fit:
		return true, fmt.Errorf("series: table %s: it is of kind %q, must be %q", table, engine, fit)
	}
	return true, nil
}
