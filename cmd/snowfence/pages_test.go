package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/internal/testkit"
)

// writeManual is given by "make release".
var writeManual = flag.String("manual.write", "", "folder to write the pages of the manual into")

// TestEachVerbHasAPageOfTheManual holds each page to the verb's own help. The pages of a release are
// made here, so that the program itself is without the maker.
func TestEachVerbHasAPageOfTheManual(t *testing.T) {
	folder := *writeManual
	if folder == "" {
		folder = t.TempDir()
	}
	root := program{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard}.commands()
	root.DisableAutoGenTag = true // it has the day on which the page was made
	if err := doc.GenManTree(root, &doc.GenManHeader{Manual: "Snowfence", Source: "Snowfence"}, folder); err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	pages, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		left[page.Name()] = true
	}
	var visit func(*cobra.Command)
	visit = func(verb *cobra.Command) {
		name := strings.ReplaceAll(verb.CommandPath(), " ", "-") + ".1"
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Error(err)
		}
		page := strings.ReplaceAll(string(text), `\-`, "-")
		for _, want := range []string{".SH NAME", ".SH SYNOPSIS", ".SH EXAMPLE", verb.Short} {
			if verb.Example == "" && want == ".SH EXAMPLE" {
				continue
			}
			if !strings.Contains(page, want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
		delete(left, name)
		for _, sub := range verb.Commands() {
			if sub.Name() != "help" { // the manual is the help
				visit(sub)
			}
		}
	}
	visit(root)
	if len(left) > 0 {
		t.Errorf("pages of no verb: %v", left)
	}
}

func TestEachPlaceHasAConfigurationThatIsAccepted(t *testing.T) {
	_, part, _ := strings.Cut(pageText(t, "operate.md"), "\n## Where does your program run?\n")
	part, _, _ = strings.Cut(part, "\n## ")
	blocks := strings.Split(part, "\n```yaml\n")[1:]
	for _, block := range blocks {
		text, _, _ := strings.Cut(block, "\n```")
		p, _, _ := inTest(t)
		p.must(t, exitOK, "config", "check", "--config", written(t, text+"\n"))
	}
	if len(blocks) < 4 {
		t.Errorf("docs/operate.md has %d configurations", len(blocks))
	}
}

func TestCommandsOfTheRunbookAreThoseOfTheProgram(t *testing.T) {
	p, _, _ := inTest(t)
	commands, quoted, values := 0, regexp.MustCompile(`('[^']*'|[^\s'])+`), strings.NewReplacer(" NEXT", " 8", " N", " 7", " NAME", " orders")
	for _, m := range regexp.MustCompile("(?m)^ +snowfence (.+)$|`snowfence ([a-z][^`]+)`").FindAllStringSubmatch(pageText(t, "operate.md"), -1) {
		commands++
		words := quoted.FindAllString(values.Replace(m[1]+m[2]), -1)
		for i, word := range words {
			words[i] = strings.ReplaceAll(word, "'", "")
		}
		verb, rest, err := p.commands().Find(words)
		if err == nil {
			err = verb.ParseFlags(rest)
		}
		if err == nil {
			err = verb.Args(verb, verb.Flags().Args())
		}
		if err != nil && (m[1] != "" || verb.Parent() == nil) { // within a sentence a command may lack its arguments
			t.Errorf("%s: %v", m[0], err)
		}
	}
	if commands < 30 {
		t.Errorf("docs/operate.md has %d commands: the test reads it wrongly", commands)
	}
}

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
