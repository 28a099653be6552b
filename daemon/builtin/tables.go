package builtin

import (
	"slices"
	"strings"

	"snowfence.example/snowfence/counter/series"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/daemon/openstore"
)

// Schema lists the tables or streams that an operator makes by hand in a store, where the program may
// not make them.
type Schema struct {
	URL   string   // of the store
	Parts []string // statements of SQL, or a stream's configuration; empty where nothing is needed
}

// Schemas returns the schemas of the generators, one for each store. If all, it looks at the settings'
// Store alone, and adds the tables that generators of other kinds would need there. It connects to
// nothing.
func Schemas(settings config.Config, all bool) ([]Schema, error) {
	var found []Schema
	add := func(url string, parts ...string) {
		i := slices.IndexFunc(found, func(s Schema) bool { return s.URL == url })
		if i < 0 {
			i = len(found)
			found = append(found, Schema{URL: url})
		}
		for _, part := range parts {
			if part != "" && !slices.Contains(found[i].Parts, part) {
				found[i].Parts = append(found[i].Parts, part)
			}
		}
	}
	need := func(k entry, url string) error {
		if k.tables != nil {
			add(url, k.tables(engine.Name(url) == "mysql")...)
			return nil
		}
		if len(k.databases) > 0 {
			add(url) // the tables are another system's
			return nil
		}
		registers, err := openstore.Schema(url)
		add(url, strings.TrimRight(registers, ";\n"))
		return err
	}
	if all {
		if err := need(entry{}, settings.Store); err != nil {
			return nil, err
		}
		if k := find("series"); slices.Contains(k.databases, engine.Name(settings.Store)) {
			add(settings.Store, k.tables(engine.Name(settings.Store) == "mysql")...)
		}
	}
	for _, name := range settings.Names() {
		g := settings.Generators[name]
		for _, url := range settings.StoresOf(g) {
			if k := find(g.Kind); !k.alone && (!all || url == settings.Store) {
				if err := need(k, url); err != nil {
					return nil, err
				}
			}
		}
	}
	return found, nil
}

func seriesTables(mysql bool) []string {
	if mysql {
		return series.DDL(series.MySQL)
	}
	return series.DDL(series.PostgreSQL)
}
