package tools

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestGuaranteesNameTestsThatExist looks for `folder`: `TestName`, `TestName` in the page of
// guarantees; the root package is called snowfence there.
func TestGuaranteesNameTestsThatExist(t *testing.T) {
	sources := testSources(t)
	page := read(t, "docs/guarantees.md")
	lists := regexp.MustCompile("`([a-z/]+)`:((?:,?\\s+`(?:Test|Fuzz|Example)\\w*`)+)")
	names := regexp.MustCompile("`(\\w+)`")
	for _, list := range lists.FindAllStringSubmatch(page, -1) {
		folder := list[1]
		if folder == "snowfence" {
			folder = "."
		}
		for _, m := range names.FindAllStringSubmatch(list[2], -1) {
			if !declares(sources[folder], m[1]) {
				t.Errorf("docs/guarantees.md names %s: %s, which does not exist", list[1], m[1])
			}
		}
	}

	// A promise without a test is a hope.
	for _, section := range strings.Split(page, "\n## ")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		if strings.Contains(text, "**Promise.**") && !lists.MatchString(text) {
			t.Errorf("docs/guarantees.md: %q names no test", title)
		}
	}
	// Names in another form would go unchecked.
	for _, name := range regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w*`).FindAllString(lists.ReplaceAllString(page, ""), -1) {
		t.Errorf("docs/guarantees.md: %s: write it as `folder`: `%s`", name, name)
	}
}

// TestEnginesNameTestsThatExist looks for tests in the page of engines. A name
// without a folder is of the folder that was named last as the one of such tests;
// before the first it may be of any. A name in brackets, where there are such, is
// a subtest, whose name the source must quote.
func TestEnginesNameTestsThatExist(t *testing.T) {
	sources := testSources(t)
	all := strings.Join(slices.Collect(maps.Values(sources)), "")
	home := regexp.MustCompile("Tests (?:without a folder are (?:of|in)|are those of) `([a-z/]+)`")
	named := regexp.MustCompile(`(?:([a-z/]+): )?\b((?:Test|Fuzz)[A-Z]\w*)`)
	brackets := regexp.MustCompile("\\(`[A-Z]\\w+`(?:, `[A-Z]\\w+`)*\\)")
	source, parts := all, false
	for i, line := range strings.Split(read(t, "docs/engines.md"), "\n") {
		if m := home.FindStringSubmatch(line); m != nil {
			source, parts = sources[m[1]], strings.Contains(line, "in brackets are parts")
		} else if strings.HasPrefix(line, "## ") {
			source, parts = all, false
		}
		for _, m := range named.FindAllStringSubmatch(line, -1) {
			in := source
			if m[1] != "" {
				in = sources[m[1]]
			}
			if !declares(in, m[2]) {
				t.Errorf("docs/engines.md:%d: %s: the test is missing", i+1, m[0])
			}
		}
		for _, list := range brackets.FindAllString(line, -1) {
			for name := range strings.SplitSeq(strings.Trim(list, "(`)"), "`, `") {
				if parts && !strings.Contains(source, `"`+name+`"`) {
					t.Errorf("docs/engines.md:%d: %s: the subtest is missing", i+1, name)
				}
			}
		}
	}
}

// testSources returns the source of each folder's tests.
func testSources(t *testing.T) map[string]string {
	t.Helper()
	sources := make(map[string]string)
	walk(t, func(file string) {
		if isTest(file) {
			sources[path.Dir(file)] += read(t, file)
		}
	})
	return sources
}

// declares reports whether source declares the test of that name.
func declares(source, name string) bool { return strings.Contains(source, "\nfunc "+name+"(") }

// TestLinksBetweenDocumentsLeadSomewhere follows the relative links of every
// Markdown file.
func TestLinksBetweenDocumentsLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	walk(t, func(file string) {
		if path.Ext(file) != ".md" {
			return
		}
		for _, m := range link.FindAllStringSubmatch(read(t, file), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(house, filepath.FromSlash(path.Join(path.Dir(file), target)))); err != nil {
				t.Errorf("%s links to %s: %v", file, m[1], err)
			}
		}
	})
}

// TestArchitectureWalksThroughFunctionsThatExist holds the walks of ARCHITECTURE.md to the tree.
func TestArchitectureWalksThroughFunctionsThatExist(t *testing.T) {
	source := strings.Builder{}
	walk(t, func(file string) {
		if path.Ext(file) == ".go" {
			source.WriteString(read(t, file))
		}
	})
	_, walks, _ := strings.Cut(read(t, "ARCHITECTURE.md"), "\n## Four walks\n")
	// A method under its type, or a function, perhaps under its package.
	functions := regexp.MustCompile("`(?:\\w+\\.)*?(?:(\\w+)\\.)?(\\w+)`").FindAllStringSubmatch(walks, -1)
	for _, m := range functions {
		method := regexp.MustCompile(`(?m)^func \([^)]*\b` + m[1] + `\) ` + m[2] + `\b`)
		function := regexp.MustCompile(`(?m)^func ` + m[2] + `\b`)
		if !method.MatchString(source.String()) && !function.MatchString(source.String()) || m[1] == "" && !function.MatchString(source.String()) {
			t.Errorf("ARCHITECTURE.md walks through %s, which is no function", m[0])
		}
	}
	if len(functions) < 10 {
		t.Errorf("the walks of ARCHITECTURE.md have %d functions: the test reads them wrongly", len(functions))
	}
}

// TestRootModuleRequiresNothing keeps the library light to depend on.
func TestRootModuleRequiresNothing(t *testing.T) {
	if regexp.MustCompile(`(?m)^\s*require\b`).MatchString(read(t, "go.mod")) {
		t.Error("go.mod requires modules")
	}
}
