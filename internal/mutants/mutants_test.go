// Package mutants plants bugs in the source, one at a time, and runs the test
// that has to find each. The tree itself is not touched: the compiler reads the
// changed file from elsewhere (go build -overlay).
//
// The bugs of the lease protocol are planted in the simulation; see internal/sim.
// Here are those that no simulation sees, each a change of one line or two, and those
// of the driver around the protocol and of outages, which the simulation finds.
package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// house is the root of the tree, seen from this package.
const house = "../.."

// A mutant is a bug in one file, and the test that finds it.
type mutant struct {
	name     string
	file     string // from the root of the tree
	old, new string // old occurs in the file exactly once
	in       string // the folder of the test's package; empty for the file's own
	test     string
}

func TestMutantsInTheSourceAreCaught(t *testing.T) {
	caught(t, table, simulated, counted, files, onDisk)
}

// TestMutantsBesideDatabasesAreCaught starts a server for each mutant, so it takes minutes. "make mutants" runs it,
// and "make test" does not.
func TestMutantsBesideDatabasesAreCaught(t *testing.T) {
	caught(t, schemas, gapless)
}

func caught(t *testing.T, tables ...[]mutant) {
	t.Helper()
	for _, m := range slices.Concat(tables...) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			if err := m.plant(t.Context(), t.TempDir()); err != nil {
				t.Error(err)
			}
		})
	}
}

// What can be wrong with a mutant, or with the test that has to find it.
var (
	errRotten   = errors.New("the text to be replaced does not occur exactly once")
	errBuild    = errors.New("it does not compile")
	errSurvived = errors.New("the test does not fail")
)

// plant returns nil if the mutant is caught: it compiles, and the test, run with
// it, fails by itself.
func (m mutant) plant(ctx context.Context, dir string) error {
	root, err := filepath.Abs(house)
	if err != nil {
		return err
	}
	file := filepath.Join(root, filepath.FromSlash(m.file))
	source, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if n := bytes.Count(source, []byte(m.old)); n != 1 {
		return fmt.Errorf("%s: %w, but %d times: %q", m.file, errRotten, n, m.old)
	}
	planted, overlay, binary := filepath.Join(dir, "planted.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "planted.test")
	if err := os.WriteFile(planted, bytes.Replace(source, []byte(m.old), []byte(m.new), 1), 0o600); err != nil {
		return err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {file: planted}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		return err
	}
	in := filepath.Join(root, filepath.FromSlash(m.in))
	if m.in == "" {
		in = filepath.Dir(file)
	}
	if _, err := os.ReadDir(in); err != nil { // so that the go command caches no result of other tests
		return err
	}
	// Compiled first and run then, so that a mutant that does not compile is none
	// that was caught.
	build := exec.CommandContext(ctx, "go", "test", "-c", "-tags", "servers", "-ldflags", "-s -w", "-overlay", overlay, "-o", binary, ".")
	build.Dir = in
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %w\n%s", m.file, errBuild, err, out)
	}
	run := exec.CommandContext(ctx, binary, "-test.count=1", "-test.timeout=2m", "-test.run", "^"+m.test+"$")
	run.Dir = in
	out, err := run.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return err
	}
	// A failure of the test itself: not one at the start of its program, nor a hang.
	if !strings.Contains(string(out), "--- FAIL: "+m.test) {
		return fmt.Errorf("%s: %s: %w\n%s", m.file, m.test, errSurvived, out)
	}
	return nil
}
