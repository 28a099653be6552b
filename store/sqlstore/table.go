package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"snowfence.example/snowfence/store"
)

const (
	// postgresKind reads a row c of pg_class.
	postgresKind = `pg_catalog.concat(c.relkind, c.relpersistence, CASE WHEN c.relrowsecurity THEN 'r' ELSE '' END)`

	// There is one row for each column, and nothing for a missing table.
	postgresShape = `SELECT 'kind', ` + postgresKind + `
FROM pg_class c WHERE c.oid = to_regclass($1)
UNION ALL SELECT 'column ' || a.attname, format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attnotnull THEN '' ELSE ' null' END
FROM pg_attribute a WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL SELECT 'index ' || i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid, 1, true)
|| CASE WHEN i.indnatts > 1 THEN ' and more' ELSE '' END || CASE WHEN i.indpred IS NULL AND i.indisvalid THEN '' ELSE ' partly' END
FROM pg_index i WHERE i.indrelid = to_regclass($1) AND i.indisunique
UNION ALL SELECT 'rights', concat_ws(',', CASE WHEN has_any_column_privilege(c.oid, 'SELECT') THEN 'select' END,
CASE WHEN has_any_column_privilege(c.oid, 'INSERT') THEN 'insert' END, CASE WHEN has_any_column_privilege(c.oid, 'UPDATE') THEN 'update' END)
FROM pg_class c WHERE c.oid = to_regclass($1)`

	mysqlShape = `SELECT 'kind', CONCAT(table_type, ' ', COALESCE(engine, 'no engine'))
FROM information_schema.tables WHERE table_schema = ? AND table_name = ?
UNION ALL SELECT CONCAT('column ', column_name), CONCAT(column_type, IF(is_nullable = 'NO', '', ' null'))
FROM information_schema.columns WHERE table_schema = ? AND table_name = ?
UNION ALL SELECT CONCAT('index ', index_name), CONCAT(GROUP_CONCAT(column_name), IF(MAX(COALESCE(sub_part, 0)) = 0, '', ' partly'))
FROM information_schema.statistics WHERE table_schema = ? AND table_name = ? AND non_unique = 0
GROUP BY index_name
UNION ALL SELECT 'rights', privileges
FROM information_schema.columns WHERE table_schema = ? AND table_name = ? AND column_name = 'token'`
)

// ensureTable finds the table, or creates it, unless it has to exist. Of a table
// that is there it changes nothing.
func ensureTable(ctx context.Context, db *sql.DB, d Dialect, table tablePlace, existing bool) error {
	found, err := findTable(ctx, db, d, table, existing)
	if found || err != nil {
		return err
	}
	if existing {
		// A user without any right on a table does not see it.
		return fmt.Errorf("sqlstore: table %s, as far as the user may see: %w", table, store.ErrNoStore)
	}
	// Of two that create it at the same time one may fail, in PostgreSQL by the
	// table's name or its type's being taken: then it is there.
	_, failed := db.ExecContext(ctx, d.ddl(table))
	if found, err = findTable(ctx, db, d, table, existing); found || err != nil {
		return err
	}
	if failed == nil {
		failed = errors.New("it is not there after it was created")
	}
	return fmt.Errorf("sqlstore: create table %s, which may also be done by hand ('snowfence namespace schema' prints the statement): %w", table, failed)
}

// findTable reports whether the table is there. It returns a *ServerError if
// it is there and can't hold registers, or if the user may not read and write them. Of a table that has to
// exist the user need only read.
func findTable(ctx context.Context, db *sql.DB, d Dialect, table tablePlace, existing bool) (bool, error) {
	shape, err := shapeOf(ctx, db, d, table)
	if err != nil {
		return false, fmt.Errorf("sqlstore: look for table %s: %w", table, err)
	}
	if shape["kind"] == "" {
		return false, nil
	}
	if reason := judgeTable(d, shape); reason != "" {
		return true, unfit("table %s: %s", table, reason)
	}
	need := []string{"SELECT"}
	if !existing {
		need = append(need, "INSERT", "UPDATE")
	}
	has := strings.Split(strings.ToUpper(shape["rights"]), ",")
	if lacks := slices.DeleteFunc(slices.Clone(need), func(right string) bool { return slices.Contains(has, right) }); len(lacks) > 0 {
		return true, unfit("table %s: the user has no right to %s: grant %s on it", table, strings.Join(lacks, ", "), strings.Join(need, ", "))
	}
	return true, nil
}

// shapeOf returns the server's description of a table, empty if it is missing.
func shapeOf(ctx context.Context, db *sql.DB, d Dialect, table tablePlace) (_ map[string]string, err error) {
	query, arguments := postgresShape, []any{d.quote(table)}
	if d == MySQL {
		query, arguments = mysqlShape, []any{table.schema, table.name, table.schema, table.name, table.schema, table.name, table.schema, table.name}
	}
	rows, err := db.QueryContext(ctx, query, arguments...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	shape := make(map[string]string)
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		shape[name] = value
	}
	return shape, rows.Err()
}

// judgeTable returns the first fault of a table, or nothing: its kind, its exact columns, or its unique
// indexes. Keys must be unique, and nothing else: that would refuse swaps for other reasons than a
// conflict.
func judgeTable(d Dialect, shape map[string]string) string {
	kinds, fits, want := judgePostgresKind, fitsPostgres, "bytea NOT NULL"
	if d == MySQL {
		kinds, fits, want = judgeMySQLKind, fitsMySQL, "varbinary(200), binary(16) and varbinary(4096), all NOT NULL"
	}
	if reason := kinds(shape["kind"]); reason != "" {
		return reason
	}
	columns, unique := []string{"key", "token", "value"}, false
	for name, value := range shape {
		column, isColumn := strings.CutPrefix(name, "column ")
		index, isIndex := strings.CutPrefix(name, "index ")
		switch {
		case isColumn && !slices.Contains(columns, column):
			return fmt.Sprintf("has a column %q: must have key, token and value alone", column)
		case isColumn && !fits(column, strings.ToLower(value)):
			return fmt.Sprintf("column %q is %s: must be %s", column, value, want)
		case isIndex && value != "key":
			return fmt.Sprintf("has a unique index %s on %s: must have one on key alone", index, value)
		}
		unique = unique || isIndex
	}
	for _, column := range columns {
		if shape["column "+column] == "" {
			return fmt.Sprintf("has no column %q", column)
		}
	}
	if !unique {
		return "has no primary key: must be key"
	}
	return ""
}

func judgePostgresKind(kind string) string {
	switch kind {
	case "rp":
		return ""
	case "ru":
		return "is UNLOGGED: a crash would empty it"
	case "rpr":
		return "has row security: rows may be hidden"
	}
	return fmt.Sprintf("is no ordinary table that lasts (kind and persistence are %q)", kind)
}

func judgeMySQLKind(kind string) string {
	if strings.EqualFold(kind, "BASE TABLE InnoDB") {
		return ""
	}
	return fmt.Sprintf("is a %s: must be a BASE TABLE InnoDB, which has transactions and survives a crash", kind)
}

func fitsPostgres(_, kind string) bool { return kind == "bytea" }

func fitsMySQL(column, kind string) bool {
	switch column {
	case "key":
		return holds(kind, 200)
	case "token":
		return kind == "binary(16)"
	}
	return holds(kind, 4096) || kind == "blob" || kind == "mediumblob" || kind == "longblob"
}

// holds reports whether a type is varbinary, and long enough.
func holds(kind string, least int) bool {
	length, ok := strings.CutPrefix(kind, "varbinary(")
	n, err := strconv.Atoi(strings.TrimSuffix(length, ")"))
	return ok && err == nil && n >= least
}
