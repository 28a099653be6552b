package sim

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain has garbage collected less often: what a plan takes of memory is little,
// and gone with it.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}
