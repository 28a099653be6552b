package tools

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// library stands for a client library.
const library = "library.example/client"

// TestLinesThatBreakARuleAreFound lints testdata/rules, where a comment
// `want "linter: pattern"` at the end of a line expects one finding in it,
// `want+1` one in the next, several strings several, and no other line any.
func TestLinesThatBreakARuleAreFound(t *testing.T) {
	tree := newTree(t)
	if err := os.CopyFS(tree, os.DirFS(filepath.Join("testdata", "rules"))); err != nil {
		t.Fatal(err)
	}

	type line struct {
		file   string
		number int
	}
	expected := make(map[line][]string)
	want := regexp.MustCompile(`// want(\+1)? (".*)$`)
	quoted := regexp.MustCompile(`"([^"]*)"`)
	err := filepath.WalkDir(tree, func(name string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".go" {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(tree, name)
		if err != nil {
			return err
		}
		for i, text := range strings.Split(string(data), "\n") {
			if m := want.FindStringSubmatch(text); m != nil {
				at := line{filepath.ToSlash(rel), i + 1}
				if m[1] != "" {
					at.number++
				}
				for _, q := range quoted.FindAllStringSubmatch(m[2], -1) {
					expected[at] = append(expected[at], q[1])
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(expected) == 0 {
		t.Fatal("testdata/rules expects nothing")
	}

	for _, issue := range lint(t, tree, "./...") {
		at := line{filepath.ToSlash(issue.Pos.Filename), issue.Pos.Line}
		i := slices.IndexFunc(expected[at], func(pattern string) bool {
			linter, text, _ := strings.Cut(pattern, ": ")
			return linter == issue.FromLinter && regexp.MustCompile(text).MatchString(issue.Text)
		})
		if i < 0 {
			t.Errorf("unexpected finding: %v", issue)
			continue
		}
		expected[at] = slices.Delete(expected[at], i, i+1)
	}
	for at, patterns := range expected {
		for _, pattern := range patterns {
			t.Errorf("%s:%d: no finding matches %q", at.file, at.number, pattern)
		}
	}
}

// newTree makes a project with this one's module path and linter
// configuration, and without a package.
func newTree(t *testing.T) string {
	t.Helper()
	tree := t.TempDir()
	write(t, tree, ".golangci.yml", read(t, ".golangci.yml"))
	write(t, tree, "go.mod", "module "+ours+"\n\ngo 1.25.0\n\nrequire "+library+" v1.0.0\n\nreplace "+library+" => ./library\n")
	write(t, tree, "library/go.mod", "module "+library+"\n\ngo 1.25.0\n")
	write(t, tree, "library/client.go", "// Package client stands for a client library.\npackage client\n")
	return tree
}

// An issue is one finding of the linter.
type issue struct {
	FromLinter string
	Text       string
	Pos        struct {
		Filename string
		Line     int
	}
}

func (i issue) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", i.Pos.Filename, i.Pos.Line, i.FromLinter, i.Text)
}

// lint runs the pinned linter in a tree and returns its findings.
func lint(t *testing.T, tree string, args ...string) []issue {
	t.Helper()
	linter, err := filepath.Abs(filepath.Join(house, ".bin", "golangci-lint"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(linter); err != nil {
		t.Fatalf("the linter is not built, run make tools: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), linter, append([]string{
		"run", "--output.json.path", "stdout", "--allow-parallel-runners", "--issues-exit-code", "0",
	}, args...)...)
	cmd.Dir = tree
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatalf("run the linter: %v\n%s", err, stderr.String())
	}
	var report struct{ Issues []issue }
	if err := json.Unmarshal(stdout, &report); err != nil {
		t.Fatalf("read the linter's report: %v\n%s", err, stdout)
	}
	return report.Issues
}
