package mutants

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestMutantsAreOfTheSource looks for the text of every mutant in the source. Only "make mutants" plants some of them.
func TestMutantsAreOfTheSource(t *testing.T) {
	for _, m := range slices.Concat(table, simulated, lent, counted, files, onDisk, beside, schemas, gapless) {
		source, err := os.ReadFile(filepath.Join(house, filepath.FromSlash(m.file)))
		if n := bytes.Count(source, []byte(m.old)); err != nil || n != 1 {
			t.Errorf("%s: %s: the text occurs %d times (%v): %q", m.name, m.file, n, err, m.old)
		}
	}
}

// A mutant that rotted, that does not compile or that no test finds is none that
// was caught.
func TestMutantsThatAreNotCaughtAreReported(t *testing.T) {
	at := slices.IndexFunc(files, func(m mutant) bool { return m.folder() == "internal/storeurl" }) // it is built soon
	good := files[at]
	for name, test := range map[string]struct {
		change func(*mutant)
		want   error
	}{
		"the text is gone":             {func(m *mutant) { m.old = "no such text" }, errRotten},
		"the text is there twice":      {func(m *mutant) { m.old = "return" }, errRotten},
		"it does not compile":          {func(m *mutant) { m.new = "return what\n" }, errBuild},
		"it changes nothing":           {func(m *mutant) { m.new = m.old }, errSurvived},
		"there is no test of the name": {func(m *mutant) { m.test = "TestNothing" }, errSurvived},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := good
			test.change(&m)
			binary, err := compile(t.Context(), t.TempDir(), "", []mutant{m})
			if err == nil {
				err = m.run(t.Context(), binary, 0)
			}
			if !errors.Is(err, test.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
