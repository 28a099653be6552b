//go:build linux || darwin

package journal

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPageThatIsPeekedAtStaysForTheNextHolder peeks beside the owner, after its crash, and at torn files.
func TestPageThatIsPeekedAtStaysForTheNextHolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	peek := func(want string) {
		t.Helper()
		if page, err := Peek(dir); string(page) != want || (err != nil) != (want == "") {
			t.Errorf("peeked at %q (%v), want %q", page, err, want)
		}
	}
	if page, err := Peek(dir); page != nil || err != nil {
		t.Errorf("no folder: %q, %v", page, err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("it made the folder")
	}
	kept(t, dir, "a", "b")
	j, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	peek("b") // though it is locked
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if page, err := take(t, dir); page != "b" || err != nil {
		t.Errorf("the next holder takes %q, %v", page, err)
	}
	kept(t, dir, "a", "b") // the entries 2 and 3
	for _, torn := range []struct{ name, want string }{{oddName, "a"}, {evenName, ""}} {
		if err := os.Truncate(filepath.Join(dir, torn.name), 20); err != nil {
			t.Fatal(err)
		}
		peek(torn.want)
	}
}
