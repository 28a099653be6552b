//go:build servers

package doctor

import (
	"testing"

	"snowfence.example/snowfence/internal/testkit"
)

func TestRedisWithoutAnAppendOnlyFileIsNamed(t *testing.T) {
	s := testkit.Redis(t, "--appendonly", "no")
	w := newWorld(t)
	w.file += "store: redis://" + s.Addr() + "\n"
	compare(t, w.examine(), "wrong store: must be 1 (appendonly yes)")
}
