package builtin

import (
	"context"
	"errors"
	"maps"
	"slices"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/store"
)

// place is where one generator counts.
type place struct {
	counter.Config // with the store, if the kind counts on one

	config    Config
	generator string
	urls      []string              // of the databases or stores that it counts in
	databases []*openstore.Database // if the kind counts in them

	// guard names the store of the guard, or the database of the column that is one.
	guard, column string
	row           *string        // the setting that names the row, if another system's is counted on; empty for the generator's name
	opened        []func() error // functions that close the opened parts, the last first
}

// open opens the kind's databases, the guard and the generator.
func (p *place) open(ctx context.Context, k entry, open open) (m kind.Minter, err error) {
	if len(k.databases) > 0 {
		p.databases, err = p.connect(p.urls...)
	}
	if err == nil {
		err = p.openGuard(ctx)
	}
	if err == nil {
		p.announce(ctx, k)
		m, err = open(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return m, nil
}

// announce logs that the generator begins a new counter: one that was there before is gone from the store.
func (p *place) announce(ctx context.Context, k entry) {
	if p.Store == nil || p.Existing || !k.counts() || p.config.Logger == nil {
		return
	}
	if _, err := counter.Show(ctx, p.Store, p.Namespace, p.Name); errors.Is(err, store.ErrNotFound) {
		p.config.Logger.Info("begins a new counter: if it gave numbers before, its record is gone: see docs/restoring.md",
			"generator", p.generator, "namespace", p.Namespace, "counter", p.Name)
	}
}

func (p *place) connect(urls ...string) (all []*openstore.Database, err error) {
	for _, url := range urls {
		db, err := openstore.Connect(url)
		if err != nil {
			return nil, err
		}
		p.opened = append(p.opened, db.Close)
		all = append(all, db)
	}
	return all, nil
}

// common returns the named ones of the settings that several kinds share.
func (p *place) common(names ...string) settings {
	all := settings{
		"name": text(&p.Name), "start": number(&p.Start, 1), "increment": number(&p.Increment, 1), "limit": number(&p.Limit, 1),
		"max-wait": duration(&p.MaxWait), "guard": p.setGuard, "guard-column": p.setColumn,
	}
	maps.DeleteFunc(all, func(name string, _ setting) bool { return !slices.Contains(names, name) })
	return all
}

// close closes the opened parts.
func (p *place) close() (err error) {
	for _, end := range slices.Backward(p.opened) {
		err = errors.Join(err, end())
	}
	p.opened = nil
	return err
}
