package disk

import (
	"errors"
	"path/filepath"
	"testing"
)

func TestMissingPathIsOnTheFileSystemOfTheNearestFolderAbove(t *testing.T) {
	dir := t.TempDir()
	above, err := SystemAt(dir)
	if err != nil || above.Name == "" {
		t.Fatalf("%+v, %v", above, err)
	}
	if below, err := SystemAt(filepath.Join(dir, "nowhere", "at", "all")); err != nil || below != above {
		t.Errorf("%+v, %v, want %+v", below, err, above)
	}
}

func TestLockIsOfOneOpeningAtATime(t *testing.T) {
	d, err := Open(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	first, err := d.Create("lock")
	if err != nil {
		t.Fatal(err)
	}
	second, err := d.Open("lock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(second.Close(), d.Close()); err != nil {
			t.Error(err)
		}
	})
	try := func(f File, want bool) {
		t.Helper()
		if locked, err := f.TryLock(); locked != want || err != nil {
			t.Errorf("locked %t, %v", locked, err)
		}
	}
	try(first, true)
	try(second, false)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	try(second, true)
}
