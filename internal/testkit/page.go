package testkit

import (
	"os"
	"testing"
)

// Page fails the test unless a file has the text that the program makes for it. With write, it first
// writes the file.
func Page(t testing.TB, file, text string, write bool) {
	t.Helper()
	if write {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != text {
		t.Errorf("%s differs from the program's output (%v): run 'make pages'; it makes\n%s", file, err, text)
	}
}
