package kinds

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"snowfence.example/snowfence/cmd/snowfence/internal/engine"
	"snowfence.example/snowfence/counter"
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

// openGuard opens the guard, if there is one.
func (p *place) openGuard(ctx context.Context) (err error) {
	if p.guard == "" {
		return nil
	}
	url := p.config.Settings.Stores[p.guard]
	if p.column != "" {
		p.Guard, err = p.columnGuard(url)
		return err
	}
	s, err := engine.OpenFor(ctx, url, p.config.Settings.StoreMustExist)
	if err != nil {
		return fmt.Errorf("open the guard: %w", err)
	}
	p.opened = append(p.opened, s.Close)
	p.Guard = counter.NewStoreGuard(s, p.Namespace, p.Name)
	return nil
}

// columnGuard is a guard by the greatest number of a column.
func (p *place) columnGuard(url string) (counter.Guard, error) {
	all, err := p.connectAll([]string{url})
	if err != nil {
		return nil, err
	}
	db := all[0]
	names := strings.Split(p.column, ".")
	for i, name := range names {
		names[i] = db.Quote(name)
	}
	last := len(names) - 1
	query := "SELECT max(" + names[last] + ") FROM " + strings.Join(names[:last], ".")
	return counter.QueryGuard{
		Name: "max of " + p.column + " in " + p.guard,
		Greatest: func(ctx context.Context) (int64, error) {
			var greatest sql.NullInt64
			if err := db.QueryRowContext(ctx, query).Scan(&greatest); err != nil {
				return 0, err
			}
			if !greatest.Valid {
				return -1, nil // the table is empty
			}
			return greatest.Int64, nil
		},
	}, nil
}

// source returns a source with the guard, if there is one.
func (p *place) source(s counter.Source) counter.Source {
	if p.Guard == nil {
		return s
	}
	return counter.Guarded(s, p.Guard, p.Name)
}
