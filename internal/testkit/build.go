package testkit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Build builds the program of a package, given by its import path, with the build tags, and returns
// the path of the executable. It is in .bin/tests, where the tests of all packages find it: the go
// command links it once, and leaves it alone until its source changes.
func Build(t testing.TB, importPath, tags string) string {
	t.Helper()
	folder := filepath.Join(root(t), ".bin", "tests")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	// One at a time among the tests of all packages: nobody starts a file that another one is writing.
	lock, err := os.Create(filepath.Join(folder, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, strings.Trim(filepath.Base(importPath)+"-"+tags, "-"))
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-w", "-tags", tags, "-o", path, importPath)
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is shipped, also for tests under the race detector
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", importPath, err, out)
	}
	return path
}

// root returns the folder of this project.
func root(t testing.TB) string {
	t.Helper()
	folder, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "snowfence.example/snowfence").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(folder))
}
