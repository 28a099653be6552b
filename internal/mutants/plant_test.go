package mutants

import (
	"errors"
	"testing"
)

// A mutant that rotted, that does not compile or that no test finds is none that
// was caught.
func TestMutantsThatAreNotCaughtAreReported(t *testing.T) {
	good := table[0]
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
			if err := m.plant(t.Context(), t.TempDir()); !errors.Is(err, test.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
