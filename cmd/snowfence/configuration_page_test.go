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
var writePage = flag.Bool("configuration.write", false, "write the lists of docs/configuration.md")

// TestPageOfTheConfigurationIsUpToDate compares the lists of docs/configuration.md.
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
		"store": "`file:DATA/store`", "data": "`$STATE_DIRECTORY`, `$XDG_STATE_HOME/snowfence` or `~/.local/state/snowfence`",
		"generators.NAME.store": "the daemon's", "generators.NAME.namespace": "the daemon's", "generators.NAME.layout": "the daemon's",
		"generators.NAME.window": "`1m`, `5s` for a pinned worker id", "generators.NAME.claim-wait": "the window and a little",
	} {
		if _, ok := defaults[path]; !ok {
			t.Errorf("%s is no key", path)
		}
		defaults[path] = "\x00" + derived
	}
	const head = "\n`key`, flag (default): meaning\n\n"
	var lines [2]strings.Builder // of the daemon, and of each generator
	for _, key := range config.Keys() {
		path, generators := strings.CutPrefix(key.Path, "generators.NAME.")
		list := &lines[0]
		if generators {
			list = &lines[1]
		}
		fmt.Fprintf(list, "- `%s`", path)
		if key.Flag != "" {
			fmt.Fprintf(list, ", `--%s`", key.Flag)
		}
		if value, derived := strings.CutPrefix(defaults[key.Path], "\x00"); derived {
			fmt.Fprintf(list, " (%s)", value)
		} else if value != "" {
			fmt.Fprintf(list, " (`%s`)", value)
		}
		fmt.Fprintf(list, ": %s\n", key.About)
	}
	testkit.Page(t, "../../docs/configuration.md", withTables(t, "configuration.md", head, lines[0].String(), lines[1].String()), *writePage)
}
