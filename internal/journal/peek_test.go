//go:build linux || darwin

package journal

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"snowfence.example/snowfence/internal/stored"
)

// TestPageThatIsPeekedAtStaysForTheNextHolder peeks beside the owner, after its crash, and at torn files.
func TestPageThatIsPeekedAtStaysForTheNextHolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	peek := func(fails bool, want ...string) {
		t.Helper()
		pages, err := Peek(dir)
		if same := slices.EqualFunc(pages, want, func(page []byte, want string) bool { return string(page) == want }); !same || (err != nil) != fails {
			t.Errorf("peeked at %q (%v), want %q", pages, err, want)
		}
	}
	peek(false)
	if _, err := os.Stat(dir); err == nil {
		t.Error("it made the folder")
	}
	kept(t, dir, "a", "b")
	j, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	peek(false, "b") // though it is locked
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if page, err := take(t, dir); page != "b" || err != nil {
		t.Errorf("the next holder takes %q, %v", page, err)
	}
	peek(false, "b")
	kept(t, dir, "c", "d") // the entries 2 and 3
	peek(false, "b", "d")
	tear := func(name string) {
		if err := os.Truncate(filepath.Join(dir, name), 20); err != nil {
			t.Fatal(err)
		}
	}
	tear(oddName)
	peek(false, "b", "c")
	tear(evenName)
	peek(true, "b")
}

// TestRefusedPagesCanStillBePeekedAt has a daemon that started by itself after a power cut refuse the pages: the store,
// which may be restored later, is then still compared with them.
func TestRefusedPagesCanStillBePeekedAt(t *testing.T) {
	for name, test := range map[string]struct {
		torn bool
		want []string
	}{
		"whole":       {false, []string{"b", "c"}},
		"newest torn": {true, []string{"b"}},
	} {
		dir := filepath.Join(t.TempDir(), "journal")
		kept(t, dir, "a", "b", "c") // the entries 2 to 4
		if test.torn {
			if err := os.Truncate(filepath.Join(dir, evenName), 20); err != nil {
				t.Fatal(err)
			}
		}
		place, err := thisPlace()
		if err != nil {
			t.Fatal(err)
		}
		place.Boot = "the next one"
		j := openedAt(t, dir, place)
		if _, err := j.Take(); !errors.Is(err, stored.ErrJournalRefused) {
			t.Errorf("%s: take: %v", name, err)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		pages, err := Peek(dir)
		if same := slices.EqualFunc(pages, test.want, func(page []byte, want string) bool { return string(page) == want }); !same || err != nil {
			t.Errorf("%s: peeked at %q (%v), want %q", name, pages, err, test.want)
		}
	}
}
