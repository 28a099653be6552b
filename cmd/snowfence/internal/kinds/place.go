package kinds

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"snowfence.example/snowfence/cmd/snowfence/internal/engine"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/kind"
)

// place is where one generator counts.
type place struct {
	counter.Config // with the store, if the kind counts on one

	config    Config
	generator string
	urls      []string           // of what it counts in
	databases []*engine.Database // if the kind counts in them

	// guard names the store of the guard, or the database of the column that is one.
	guard, column string
	opened        []func() error // closes what was opened, the last first
}

// open opens what the kind counts in, and the generator.
func (p *place) open(ctx context.Context, k counted, open open) (kind.Minter, error) {
	err := p.connect(ctx, k)
	if err == nil {
		var m kind.Minter
		if m, err = open(ctx, p); err == nil {
			return m, nil
		}
	}
	return nil, errors.Join(err, p.close())
}

func (p *place) connect(ctx context.Context, k counted) (err error) {
	if len(k.databases) > 0 {
		if p.databases, err = p.connectAll(p.urls); err != nil {
			return err
		}
	}
	if p.guard == "" {
		return nil
	}
	url := p.config.Settings.Stores[p.guard]
	if p.column != "" {
		p.Guard, err = p.columnGuard(url)
		return err
	}
	s, err := engine.Open(ctx, url)
	if err != nil {
		return fmt.Errorf("open the guard: %w", err)
	}
	p.opened = append(p.opened, s.Close)
	p.Guard = counter.NewStoreGuard(s, p.Namespace, p.Name)
	return nil
}

func (p *place) connectAll(urls []string) (all []*engine.Database, err error) {
	for _, url := range urls {
		db, err := engine.Connect(url)
		if err != nil {
			return nil, err
		}
		p.opened = append(p.opened, db.Close)
		all = append(all, db)
	}
	return all, nil
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

// common returns those settings that several kinds have, of the names.
func (p *place) common(names ...string) settings {
	all := settings{
		"name": text(&p.Name), "start": number(&p.Start, 1), "increment": number(&p.Increment, 1), "limit": number(&p.Limit, 1),
		"max-wait": duration(&p.MaxWait), "guard": p.setGuard, "guard-column": p.setColumn,
	}
	maps.DeleteFunc(all, func(name string, _ setting) bool { return !slices.Contains(names, name) })
	return all
}

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

// source returns a source with the guard, if there is one.
func (p *place) source(s counter.Source) counter.Source {
	if p.Guard == nil {
		return s
	}
	return counter.Guarded(s, p.Guard, p.Name)
}

func (p *place) close() error {
	var errs []error
	for i := range p.opened {
		errs = append(errs, p.opened[len(p.opened)-1-i]())
	}
	return errors.Join(errs...)
}
