//go:build servers

package mutants

import "testing"

// TestMutantsBesideServersAreCaught starts servers for each mutant, so it takes minutes. "make mutants" alone runs it.
func TestMutantsBesideServersAreCaught(t *testing.T) {
	caught(t, "servers", beside, schemas, gapless)
}
