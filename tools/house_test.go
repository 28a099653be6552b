package tools

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// house is the root of the tree, seen from this package.
const house = ".."

// walk calls visit with the slash-separated path, relative to the root of the
// tree, of every file that belongs to the project.
func walk(t *testing.T, visit func(path string)) {
	t.Helper()
	err := filepath.WalkDir(house, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			// .git, .bin and generated code are not the project's; the go command
			// ignores the other two.
			if path != house && slices.Contains([]string{".git", ".bin", "generated", "testdata", "vendor"}, name) {
				return fs.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(house, path)
		if err != nil {
			return err
		}
		visit(filepath.ToSlash(rel))
		return nil
	})
	if err != nil {
		t.Fatalf("walk the tree: %v", err)
	}
}

// read returns the contents of a file, named from the root of the tree.
func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(house, filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// write makes a file and the folders above it, below dir.
func write(t *testing.T, dir, path, text string) {
	t.Helper()
	path = filepath.Join(dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// isTest reports whether a path names a file of Go tests.
func isTest(path string) bool { return strings.HasSuffix(path, "_test.go") }
