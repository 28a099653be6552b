package testkit

import (
	"os"
	"path/filepath"
	"testing"
)

// TakeFolder takes the registers of a file store away until giveBack is called: each call of
// the store fails meanwhile.
func TakeFolder(tb testing.TB, dir string) (giveBack func()) {
	tb.Helper()
	registers, aside := filepath.Join(dir, "registers"), filepath.Clean(dir)+"-taken"
	if err := os.Rename(registers, aside); err != nil {
		tb.Fatal(err)
	}
	return func() {
		tb.Helper()
		if err := os.Rename(aside, registers); err != nil {
			tb.Error(err)
		}
	}
}
