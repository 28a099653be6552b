package main

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
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
