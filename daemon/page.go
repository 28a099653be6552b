package daemon

import (
	"cmp"
	"path/filepath"
	"strings"

	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/daemon/internal/page"
	"snowfence.example/snowfence/daemon/internal/view"
)

// pageFront is the front that has the page: that of operators.
func (d *daemon) pageFront() string {
	if d.settings.Admin != "" {
		return "admin"
	}
	return "http"
}

// newPage makes the page.
func (d *daemon) newPage() (*page.Page, error) {
	return page.New(page.Config{Source: d.view, Clock: d.clock, Guarded: d.service.Guarded(), Public: d.pageFront() == "http", RESP: d.settings.RESP})
}

// flags returns the flags by which the commands on the page mean each namespace, after a space. They hold no password.
func (d *daemon) flags() map[view.Place]string {
	file, _ := d.settings.Variable(config.EnvironmentFile)
	file = cmp.Or(d.config.File, file)
	if file != "" {
		whole, _ := filepath.Abs(file) // empty without a working directory
		file = " --config " + quoted(cmp.Or(whole, file))
	}
	from := map[string]config.Source{}
	for _, v := range d.settings.Values() {
		from[v.Key] = v.Origin.Source
	}
	inFile := file != "" && (from["store"] == config.FromFile || from["store"] == config.FromDefault && from["data"] == config.FromFile)
	store := " --store " + quoted(d.settings.ShowStore(d.settings.Store))
	if strings.Contains(store, engine.Hidden) {
		store = ` --store "$` + config.EnvironmentPrefix + `STORE"`
	}
	usual, all := config.Default().Namespace, map[view.Place]string{}
	others := d.settings.Namespace != usual
	for _, g := range d.settings.Generators {
		others = others || g.Namespace != usual
	}
	for _, g := range d.settings.Generators {
		flags := file
		if name := storeName(g); name != "" {
			flags += " --store " + quoted(name)
		} else if !inFile {
			flags += store
		}
		if others {
			flags += " --namespace " + quoted(g.Namespace)
		}
		all[view.Place{StoreName: storeName(g), Namespace: g.Namespace}] = flags
	}
	return all
}

// quoted writes a word for a shell, in quotes where it needs them.
func quoted(word string) string {
	if strings.Trim(strings.ToLower(word), "abcdefghijklmnopqrstuvwxyz0123456789-_./:@,=+%") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
