package snowfence

import (
	"go/build"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestModuleRequiresNothing(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if found := regexp.MustCompile(`(?m)^\s*(require|replace|tool|toolchain)\b.*`).Find(mod); found != nil {
		t.Errorf("go.mod says %q", found)
	}
	if _, err := os.Stat("go.sum"); !os.IsNotExist(err) {
		t.Errorf("there is a go.sum, or it can't be told: %v", err)
	}
}

func TestPackageNeedsTheStandardLibraryAlone(t *testing.T) {
	pkg, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	// No I/O of its own, and no randomness or time but what it is given.
	refused := []string{"bufio", "io", "io/fs", "net", "net/http", "os", "os/exec", "path/filepath", "syscall", "unsafe", "math/rand"}
	for _, path := range pkg.Imports {
		host, _, _ := strings.Cut(path, "/")
		if strings.Contains(host, ".") {
			t.Errorf("%s is not of the standard library", path)
		}
		if slices.Contains(refused, path) {
			t.Errorf("%s has no place in this package", path)
		}
	}
}
