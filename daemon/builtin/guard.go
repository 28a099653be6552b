package builtin

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/daemon/openstore"
)

// setGuard reads the setting guard. It stands before guard-column in the order of reading.
func (p *place) setGuard(name string) error {
	url, ok := p.config.Settings.Stores[name]
	if !ok {
		return errors.New("must be one of the names in stores")
	}
	column := p.config.Settings.Generators[p.generator].Settings["guard-column"]
	same := func(other string) bool { return strings.TrimRight(other, "/") == strings.TrimRight(url, "/") }
	switch {
	case column == "" && slices.ContainsFunc(p.urls, same):
		return errors.New("must be another store than that of the generator")
	case engine.Private(url):
		return errors.New("must be a store that is there after this process")
	case column == "" && engine.Loss(url) > 0:
		return fmt.Errorf("must be a store that loses nothing, because a mark that is lost refuses nothing: durable=true in its URL declares it, and %s can lose %s",
			p.config.Settings.ShowStore(url), engine.Loss(url))
	}
	p.guard = name
	return nil
}

// setColumn reads the setting guard-column.
func (p *place) setColumn(column string) error {
	if !engine.IsDatabase(p.config.Settings.Stores[p.guard]) {
		return errors.New("needs guard to name a database")
	}
	if parts := strings.Split(column, "."); len(parts) < 2 || slices.Contains(parts, "") {
		return errors.New("must be table.column, or schema.table.column")
	}
	p.column = column
	return nil
}

// counted returns the name of the generator's counter, under which a guard keeps its mark. A generator
// of another name meets the same mark, and so does a copy of the database on another host.
func (p *place) counted() []string {
	if p.row == nil {
		return []string{p.Namespace, p.Name}
	}
	system := p.config.Settings.Generators[p.generator].Kind
	return []string{system, openstore.DatabaseOf(p.urls[0]), cmp.Or(*p.row, p.Name)}
}

// openGuard opens the guard, if there is one.
func (p *place) openGuard(ctx context.Context) (err error) {
	if p.guard == "" {
		return nil
	}
	url := p.config.Settings.Stores[p.guard]
	if p.column != "" {
		p.Guard, err = p.columnGuard(ctx, url)
		return err
	}
	s, err := openstore.OpenFor(ctx, url, p.config.Settings.StoreMustExist)
	if err != nil {
		return fmt.Errorf("open the guard: %w", err)
	}
	p.opened = append(p.opened, s.Close)
	counted := p.counted()
	guard, err := counter.OpenStoreGuard(ctx, s, counted...)
	if err != nil {
		return err
	}
	if mark, err := guard.Mark(ctx); err == nil && mark < 0 && p.config.Logger != nil {
		p.config.Logger.Info("begins a new mark: numbers that were given before are not in it: see docs/counters.md",
			"generator", p.generator, "guard", p.guard, "of", strings.Join(counted, "/"))
	}
	p.Guard = guard
	return nil
}

// columnGuard is a guard by the greatest number of a column.
func (p *place) columnGuard(ctx context.Context, url string) (counter.Guard, error) {
	all, err := p.connect(url)
	if err != nil {
		return nil, err
	}
	db := all[0]
	names := strings.Split(p.column, ".")
	last := len(names) - 1
	var table string
	if last == 1 {
		if table, err = db.Place(ctx, names[0]); err != nil {
			return nil, fmt.Errorf("look for the table of the guard %s: %w", p.column, err)
		}
	}
	for i, name := range names {
		names[i] = db.Quote(name)
	}
	column, table := names[last], cmp.Or(table, strings.Join(names[:last], "."))
	// It is max(column), and has the column's own type.
	query := "SELECT " + column + " FROM " + table + " WHERE " + column + " IS NOT NULL ORDER BY " + column + " DESC LIMIT 1"
	return counter.QueryGuard{
		Name: "max of " + p.column + " in " + p.guard,
		Greatest: func(ctx context.Context) (greatest int64, err error) {
			rows, err := db.QueryContext(ctx, query)
			if err != nil {
				return 0, err
			}
			defer func() { err = errors.Join(err, rows.Close()) }()
			if err := p.whole(rows); err != nil {
				return 0, err
			}
			if !rows.Next() {
				return -1, rows.Err() // the table is empty
			}
			var text string
			if err := rows.Scan(&text); err != nil {
				return 0, err
			}
			if greatest, err = strconv.ParseInt(text, 10, 64); err != nil { // bigint unsigned and numeric hold more
				return 0, &counter.ConfigError{Field: "guard-column", Value: p.column + " with " + text, Limit: "must hold no number above " + strconv.Itoa(math.MaxInt64)}
			}
			return greatest, nil
		},
	}, nil
}

// whole returns an error unless the column holds whole numbers. The greatest text of 999 and 1000 is
// 999, and a fraction can't be compared with numbers of a counter.
func (p *place) whole(rows *sql.Rows) error {
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	name := types[0].DatabaseTypeName()
	switch strings.TrimPrefix(name, "UNSIGNED ") {
	case "INT2", "INT4", "INT8", "TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT":
		return nil
	case "NUMERIC", "DECIMAL":
		if _, scale, ok := types[0].DecimalSize(); ok && scale == 0 {
			return nil
		}
		name += " with a fraction"
	}
	return &counter.ConfigError{Field: "guard-column", Value: p.column + " of type " + name, Limit: "must be a column of whole numbers"}
}

// source returns a source with the guard, if there is one.
func (p *place) source(s counter.Source) counter.Source {
	if p.Guard == nil {
		return s
	}
	return counter.Guarded(s, p.Guard, p.Name)
}
