package tools

import (
	"flag"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// writeIndex is given by "make pages".
var writeIndex = flag.Bool("llms.write", false, "write llms.txt")

// TestIndexForAgentsIsThatOfTheDocs holds llms.txt to the pages that the README lists, in their order, and to the commands
// of the README and of docs/library.md. So its links lead somewhere, and each command is run by the tests of these pages.
func TestIndexForAgentsIsThatOfTheDocs(t *testing.T) {
	readme := read(t, "README.md")
	text := "# Snowfence\n\n> " + opening(readme) + "\n\n" + `The README has a first id in two lines, and docs/library.md has programs in Go. Ids are texts in JSON, since JavaScript rounds
integers above 2^53. Every verb has --help with examples, and -o json where it prints data.

## Documents

- [README](README.md): how to try, install and run it, and what it promises.
`
	_, list, _ := strings.Cut(readme, "\n## Documents\n")
	list, _, _ = strings.Cut(list, "[llms.txt]")
	listed := []string{}
	for _, m := range regexp.MustCompile(`\[[^]]+\]\(([^)]+)\)`).FindAllStringSubmatch(list, -1) {
		page := read(t, m[1])
		title, _, _ := strings.Cut(strings.TrimPrefix(page, "# "), "\n")
		listed = append(listed, m[1])
		text += strings.TrimSuffix(fmt.Sprintf("- [%s](%s): %s", title, m[1], opening(page)), ": ") + "\n"
	}
	walk(t, func(file string) {
		if path.Dir(file) == "docs" && path.Ext(file) == ".md" && !slices.Contains(listed, file) {
			t.Errorf("the README's list of documents lacks %s", file)
		}
	})
	text += "- [openapi.yaml](api/openapi.yaml): every request and answer over HTTP.\n\n## Commands\n\n"
	for _, m := range regexp.MustCompile("(?m)^\\| `(snowfence [^`]+)` \\| (.+) \\|$").FindAllStringSubmatch(readme, -1) {
		text += fmt.Sprintf("- `%s` %s\n", m[1], m[2])
	}
	for _, m := range regexp.MustCompile("(?s)\n```sh\n(.*?)```").FindAllStringSubmatch(readme+read(t, "docs/library.md"), -1) {
		for line := range strings.Lines(m[1]) {
			text += "- `" + strings.TrimSpace(line) + "`\n"
		}
	}
	if *writeIndex {
		if err := os.WriteFile("../llms.txt", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if read(t, "llms.txt") != text {
		t.Errorf("llms.txt is not that of the docs: run 'make pages'; it is\n%s", text)
	}
}

// opening returns the first sentence of a page's text, without its links.
func opening(page string) string {
	for _, block := range strings.Split(page, "\n\n")[1:] {
		block = strings.Join(strings.Fields(regexp.MustCompile(`\[([^]]+)\]\([^)]*\)`).ReplaceAllString(block, "$1")), " ")
		if end := regexp.MustCompile(`[.:](?: |$)`).FindStringIndex(block); end != nil && !strings.ContainsAny(block[:1], "#|<") && !strings.HasPrefix(block, "```") {
			return block[:end[0]] + "."
		}
	}
	return ""
}
