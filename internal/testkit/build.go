package testkit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// built holds the executables that this process has asked for: a function for each package and tags.
var built sync.Map

// Build builds the program of a package, given by its import path, with the build tags, and returns
// the path of the executable. It is in .bin/tests, where the tests of all packages find it: the go
// command links it once, and leaves it alone until its source changes.
func Build(t testing.TB, importPath, tags string) string {
	t.Helper()
	build, _ := built.LoadOrStore(importPath+" "+tags, sync.OnceValues(func() (string, error) { return build(importPath, tags) }))
	path, err := build.(func() (string, error))()
	if err != nil {
		t.Fatalf("build %s: %v", importPath, err)
	}
	return path
}

func build(importPath, tags string) (path string, err error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "snowfence.example/snowfence").Output()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(strings.TrimSpace(string(root)), ".bin", "tests")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	// One at a time among the tests of all packages: nobody starts a file that another one is writing.
	lock, err := os.Create(filepath.Join(folder, "lock"))
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	path = filepath.Join(folder, strings.Trim(filepath.Base(importPath)+"-"+tags, "-"))
	if out, err := exec.Command("go", "build", "-ldflags=-w", "-tags", tags, "-o", path, importPath).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
}
