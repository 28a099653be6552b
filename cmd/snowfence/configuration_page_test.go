package main

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/internal/testkit"
)

// writePage is given by "make pages".
var writePage = flag.Bool("configuration.write", false, "write the tables of docs/configuration.md")

// TestPageOfTheConfigurationIsUpToDate compares the tables of docs/configuration.md.
func TestPageOfTheConfigurationIsUpToDate(t *testing.T) {
	c, err := config.Load(config.Sources{Environ: []string{"HOME=/home/me"}})
	if err != nil {
		t.Fatal(err)
	}
	const generator = "generators." + config.DefaultGenerator + "."
	defaults := map[string]string{}
	for _, v := range c.Values() {
		path, own := strings.CutPrefix(v.Key, generator)
		if own {
			path = "generators.NAME." + path
		}
		defaults[path] = v.Text
	}
	for path, derived := range map[string]string{
		"store": "a folder in `data`: `file:DATA/store`", "data": "`$STATE_DIRECTORY`, `$XDG_STATE_HOME/snowfence` or `~/.local/state/snowfence`",
		"generators.NAME.store": "the store of the key `store`", "generators.NAME.namespace": "that of the key `namespace`", "generators.NAME.layout": "that of the key `layout`",
		"generators.NAME.window": "`1m`, `5s` for a pinned worker id", "generators.NAME.claim-wait": "the window and a little",
	} {
		if _, ok := defaults[path]; !ok {
			t.Errorf("%s is no key", path)
		}
		defaults[path] = "\x00" + derived
	}
	const head = "\n| key, flag | default | meaning |\n|---|---|---|\n"
	var rows [2]strings.Builder // of the daemon, and of each generator
	for _, key := range config.Keys() {
		path, generators := strings.CutPrefix(key.Path, "generators.NAME.")
		table := &rows[0]
		if generators {
			table = &rows[1]
		}
		value, derived := strings.CutPrefix(defaults[key.Path], "\x00")
		switch {
		case derived:
		case value == "":
			value = "none"
		default:
			value = "`" + value + "`"
		}
		names := "`" + path + "`"
		if key.Flag != "" {
			names += ", `--" + key.Flag + "`"
		}
		fmt.Fprintf(table, "| %s | %s | %s |\n", names, value, strings.ReplaceAll(key.About, "|", "\\|"))
	}
	testkit.Page(t, "../../docs/configuration.md", withTables(t, "configuration.md", head, rows[0].String(), rows[1].String()), *writePage)
}
