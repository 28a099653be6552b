// Package mutants plants bugs in the source and runs the test that has to find each.
// The tree itself is not touched: the compiler reads the changed files from elsewhere
// (go build -overlay). One program holds all bugs that the tests of one package have to
// find, each in a copy of its function, and an environment variable chooses one of them.
//
// The bugs of the lease protocol are planted in the simulation; see internal/sim.
// Here are those that no simulation sees, each a change of one line or two, and those
// of the driver around the protocol and of outages, which the simulation finds.
package mutants

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// places are bugs by the file that they are in, and by their names.
type places map[string]map[string]bug

// A bug is a change of a text that occurs in its file exactly once.
type bug struct {
	old, new string
	in       string // the folder of the test's package; empty for the file's own
	test     string // that finds it
}

// mutants lists the bugs. The test, in its folder, finds the bugs that name no test. If it is empty, all tests are in
// the folder, but for the bugs that name another folder.
func (p places) mutants(in, test string) (all []mutant) {
	for _, file := range slices.Sorted(maps.Keys(p)) {
		for _, name := range slices.Sorted(maps.Keys(p[file])) {
			m := mutant{name: name, file: file, bug: p[file][name]}
			if m.test == "" || test == "" {
				m.in, m.test = cmp.Or(m.in, in), cmp.Or(m.test, test)
			}
			all = append(all, m)
		}
	}
	return all
}

// house is the root of the tree, seen from this package.
const house = "../.."

// A mutant is a bug in one file.
type mutant struct {
	bug
	name string
	file string // from the root of the tree
}

func TestMutantsInTheSourceAreCaught(t *testing.T) {
	caught(t, "", table, simulated, lent, counted, files, onDisk)
}

// folder returns the folder of the mutant's test, from the root of the tree.
func (m mutant) folder() string {
	if m.in == "" {
		return path.Dir(m.file)
	}
	return m.in
}

// caught plants the mutants, and builds the tests with the tags.
func caught(t *testing.T, tags string, tables ...[]mutant) {
	t.Helper()
	byFolder := map[string][]mutant{}
	for _, m := range slices.Concat(tables...) {
		byFolder[m.folder()] = append(byFolder[m.folder()], m)
	}
	for folder, mutants := range byFolder {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			binary, err := compile(t.Context(), t.TempDir(), tags, mutants)
			if err != nil {
				t.Fatal(err)
			}
			for i, m := range mutants {
				t.Run(m.name, func(t *testing.T) {
					t.Parallel()
					if err := m.run(t.Context(), binary, i); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}

// Ways in which a mutant, or the test that has to find it, is wrong.
var (
	errRotten   = errors.New("the text to be replaced does not occur exactly once in a function")
	errBuild    = errors.New("it does not compile")
	errSurvived = errors.New("the test does not fail")
)

// compile builds the tests of the folder of mutants with the tags, and with all of them planted, and returns the path of
// the program. It is built before any of its tests runs, so that a mutant that does not compile does
// not count as caught.
func compile(ctx context.Context, dir, tags string, mutants []mutant) (binary string, err error) {
	root, err := filepath.Abs(house)
	if err != nil {
		return "", err
	}
	overlay, err := plant(root, dir, mutants)
	if err != nil {
		return "", err
	}
	in := filepath.Join(root, filepath.FromSlash(mutants[0].folder()))
	if _, err := os.ReadDir(in); err != nil { // so that the go command caches no result of other tests
		return "", err
	}
	binary = filepath.Join(dir, "planted.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-tags", tags, "-ldflags", "-s -w", "-overlay", overlay, "-o", binary, ".")
	build.Dir = in
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w: %w\n%s", mutants[0].folder(), errBuild, err, out)
	}
	return binary, nil
}

// run returns nil if the mutant is caught: its test, run with bug i of the program, fails by itself.
func (m mutant) run(ctx context.Context, binary string, i int) error {
	run := exec.CommandContext(ctx, binary, "-test.count=1", "-test.timeout=10m", "-test.parallel=8", "-test.run", "^"+m.test+"$")
	run.Dir = filepath.Join(house, filepath.FromSlash(m.folder()))
	run.Env = append(run.Environ(), chosen(i))
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
