package testkit

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// Build builds the program of a package, given by its import path, with the
// build tags, and returns the path of the executable.
func Build(t testing.TB, importPath, tags string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.Base(importPath))
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-tags", tags, "-o", path, importPath).CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", importPath, err, out)
	}
	return path
}
