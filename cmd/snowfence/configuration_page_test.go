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
var writePage = flag.Bool("configuration.write", false, "write docs/configuration.md")

const (
	pageHead = `# Configuration

Every setting of the daemon and the command line, with its default. ` + "`make pages`" + ` writes this page from
the program. Settings come from flags, variables, one YAML file and defaults; the first of these wins:

    snowfence serve --http 127.0.0.1:8080
    SNOWFENCE_HTTP=127.0.0.1:8080 snowfence serve
    snowfence serve --config snowfence.yaml        # or $SNOWFENCE_CONFIG

` + "`snowfence config check`" + ` names everything that is wrong, with line and column, without a network.
` + "`snowfence config print`" + ` shows what is in effect and where it came from. An unknown key is an error.

Paths in the file begin at its folder, so one file means one store wherever a process starts. A variable with a
store's folder must hold the whole path.
`

	pageGenerators = `
## Generators

Each generator has a section with its name: ` + "`generators: {orders: {window: 2m}}`" + `. In a variable the name is in
capitals, with ` + "`_`" + ` for ` + "`-`" + `: ` + "`SNOWFENCE_GENERATORS_ORDERS_WINDOW`" + `. Without any there is one, named default.
Keys below ` + "`kind`, `namespace`, `store` and `settings`" + ` are for the kinds snowflake and wide. The settings of
other kinds are in [kinds](kinds.md) and [counters](counters.md).
`
)

// pageOf is docs/configuration.md as it must be.
func pageOf(t *testing.T) string {
	t.Helper()
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
	var page strings.Builder
	page.WriteString(pageHead)
	const head = "\n| key | default | flag and variable | meaning |\n|---|---|---|---|\n"
	page.WriteString(head)
	below := false
	for _, key := range config.Keys() {
		path, generators := strings.CutPrefix(key.Path, "generators.NAME.")
		if generators && !below {
			below = true
			page.WriteString(pageGenerators + head)
		}
		value, derived := strings.CutPrefix(defaults[key.Path], "\x00")
		switch {
		case derived:
		case value == "":
			value = "none"
		default:
			value = "`" + value + "`"
		}
		from := "`" + key.Environment() + "`"
		if key.Flag != "" {
			from = "`--" + key.Flag + "`, " + from
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s |\n", path, value, from, strings.ReplaceAll(key.About, "|", "\\|"))
	}
	page.WriteString(pageVariables)
	return page.String()
}

const pageVariables = `
## Layouts

A layout is a preset's name, such as ` + "`twitter`" + `, or its fields from the highest bits to the lowest. A field is a word and
its bits. An ` + "`@`" + ` and an epoch may follow:

    baidu@2026-01-01
    ms41-dc5-worker5-seq12
    10ms39-worker10-seq14@2026-01-01T00:00:00Z

| field | words |
|---|---|
| time | its unit: ` + "`us`, `ms`, `s`, `min` or `h`" + `, after a count if that is not one: ` + "`10ms39`" + ` |
| datacenter | ` + "`datacenter`, `dc`, `region`" + ` |
| worker id | ` + "`worker`, `host`, `instance`, `machine`, `node`, `process`, `server`, `shard`" + ` |
| sequence | ` + "`sequence`, `seq`, `counter`, `increment`, `random`, `step`" + ` |

The epoch is a date, an RFC 3339 instant or Unix milliseconds. Without one it is the preset's, or 2026-01-01T00:00:00Z.
The fields have up to 63 bits together, or 64 with the word ` + "`unsigned`" + ` in a field's place. With ` + "`wide`" + ` they have up to 128,
and three more words: ` + "`version`, `variant` and `random`" + `. ` + "`snowfence plan --layout SPEC`" + ` says what a layout holds.

## Variables

A variable that begins with ` + "`SNOWFENCE_`" + ` and is no setting is warned of. Those that Kubernetes and Docker
set for a service or a link are no settings, such as ` + "`SNOWFENCE_STORES_PORT`" + ` for a service ` + "`snowfence-stores`" + `.

In the URL of a store ` + "`${NAME}`" + ` stands for a variable, such as one that holds a password or a folder. It is refused if
it has a line break or another control character. ` + "`config print`" + `, errors and logs show the URL as it is written, and never a
password. ` + "`$NAME`" + `, ` + "`$(…)`" + ` and ` + "`${NAME:-…}`" + ` are refused there, too.

A text that is empty is refused, from a file, a variable or a flag: an unset variable in a script would else lead to the
default, such as another store. It means something for addresses, which are then off, for lists but ` + "`" + `store` + "`" + `, and for settings
of kinds.

## Limits

A file has at most 1 MiB, also with all that its aliases stand for, a setting at most 64 KiB, and a section at most 10,000
keys. YAML's merge, ` + "`<<`" + `, is refused. An error shows at most 200 bytes of a setting.

## Paths

A path that is taken literally is a folder in each working directory, and so a space of ids in each. So a setting
that has a path is made whole, or refused at the start, by ` + "`" + `config check` + "`" + ` and by every verb.

| in a path | means |
|---|---|
| ` + "`" + `~/` + "`" + ` in front | the home directory, ` + "`" + `$HOME` + "`" + ` |
| ` + "`" + `${NAME}` + "`" + ` in a store's URL | the variable |
| a relative path | begins at the folder of the file that has it, or, of a flag, in the working directory; refused in a variable for ` + "`" + `store` + "`" + ` and ` + "`" + `data` + "`" + ` |
| ` + "`" + `~` + "`" + ` or ` + "`" + `~user` + "`" + `, ` + "`" + `$NAME` + "`" + `, ` + "`" + `$(…)` + "`" + `, ` + "`" + `${NAME:-…}` + "`" + ` | refused |
| ` + "`" + `${NAME}` + "`" + ` in front of a path in ` + "`" + `file:` + "`" + ` | refused unless it holds a path that begins with ` + "`" + `/` + "`" + ` or ` + "`" + `~/` + "`" + ` |
| quotes around a name, ` + "`" + `{{` + "`" + `, ` + "`" + `%NAME%` + "`" + `, ` + "`" + `<…>` + "`" + ` | refused in the path of a file or folder |
| ` + "`" + `STATE_DIRECTORY` + "`" + `, of systemd | the first folder that it lists; refused if that is relative |
| a blank at an end, a control character, a ` + "`" + `?` + "`" + ` in ` + "`" + `file:` + "`" + ` | refused |

The prefixes, names of databases and files in the URLs of other engines follow the same rules. There ` + "`" + `%24` + "`" + ` and ` + "`" + `%7E` + "`" + `
stand for the signs themselves. The log names the whole path: ` + "`" + `opening the store` + "`" + `. A Go program that gives a path by
` + "`" + `filestore.Config` + "`" + ` gets the path as it is.
`

func TestPageOfTheConfigurationIsUpToDate(t *testing.T) {
	testkit.Page(t, "../../docs/configuration.md", pageOf(t), *writePage)
}
