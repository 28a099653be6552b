//go:build linux || darwin

package journal

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/disk"
	"snowfence.example/snowfence/internal/stored"
)

// Permissions of the files that these tests make themselves.
const (
	folderMode = 0o700
	fileMode   = 0o600
)

// kept makes a journal in a folder and leaves it as a crash does.
func kept(t *testing.T, dir string, pages ...string) {
	t.Helper()
	j, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Take(); err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if err := j.Keep([]byte(page)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

func take(t *testing.T, dir string) (string, error) {
	t.Helper()
	j, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}()
	page, err := j.Take()
	return string(page), err
}

// openedAt opens the journal in a folder, of a place.
func openedAt(t *testing.T, dir string, here Place) *Journal {
	t.Helper()
	d, err := disk.Open(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	j, err := OpenOn(d, dir, here)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// later waits until the file system's times of change are others than they are
// now: on most they stand still for a few milliseconds.
func later(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	d, err := disk.Open(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	path := filepath.Join(dir, "clock")
	changed := func() time.Time {
		if err := os.WriteFile(path, []byte("tick"), fileMode); err != nil {
			t.Fatal(err)
		}
		info, err := d.Stat("clock")
		if err != nil {
			t.Fatal(err)
		}
		return info.Changed
	}
	ticks := time.NewTicker(time.Millisecond)
	defer ticks.Stop()
	for now := changed(); !changed().After(now.Add(10 * time.Millisecond)); {
		select {
		case <-ticks.C:
		case <-t.Context().Done():
			t.Fatal("the file system's time stands still")
		}
	}
}

func TestCopiedFilesAreRefused(t *testing.T) {
	both := []string{oddName, evenName}
	copyFiles := func(names []string, from, to string) error {
		for _, name := range names {
			b, err := os.ReadFile(filepath.Join(from, name))
			if err == nil {
				err = os.WriteFile(filepath.Join(to, name), b, fileMode)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	tests := []struct {
		name  string
		copy  func(dir, other string) error
		taken bool
	}{
		{"left alone", func(_, _ string) error { return nil }, true},
		{"read", func(dir, other string) error { return copyFiles(both, dir, other) }, true},
		{"its folder was renamed and renamed back", func(dir, other string) error {
			return errors.Join(os.Rename(dir, other+"x"), os.Rename(other+"x", dir))
		}, true},
		{"copied with cp -a", func(dir, other string) error {
			return errors.Join(exec.Command("cp", "-a", dir+"/.", other).Run(), os.RemoveAll(dir), os.Rename(other, dir))
		}, false},
		{"restored in place", func(dir, other string) error {
			return errors.Join(copyFiles(both, dir, other), copyFiles(both, other, dir))
		}, false},
		{"the odd one restored in place", func(dir, other string) error {
			return errors.Join(copyFiles(both, dir, other), copyFiles([]string{oddName}, other, dir))
		}, false},
		{"restored by rename, with its times", func(dir, other string) error {
			return errors.Join(exec.Command("cp", "-p", filepath.Join(dir, oddName), filepath.Join(dir, "copy")).Run(),
				os.Rename(filepath.Join(dir, "copy"), filepath.Join(dir, oddName)))
		}, false},
		{"its owner set again", func(dir, _ string) error { return os.Chmod(filepath.Join(dir, oddName), fileMode) }, false},
		{"one is missing", func(dir, _ string) error { return os.Remove(filepath.Join(dir, oddName)) }, false},
		{"the newer is missing", func(dir, _ string) error { return os.Remove(filepath.Join(dir, evenName)) }, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			dir, other := filepath.Join(root, "journal"), filepath.Join(root, "other")
			if err := os.Mkdir(other, folderMode); err != nil {
				t.Fatal(err)
			}
			kept(t, dir, "one", "two", "three") // entries 2 to 4: the newest is even
			later(t)
			if err := test.copy(dir, other); err != nil {
				t.Fatal(err)
			}
			page, err := take(t, dir)
			var refused *RefusedError
			switch {
			case test.taken && (page != "three" || err != nil):
				t.Errorf("took %q, %v", page, err)
			case !test.taken && (page != "" || !errors.As(err, &refused) || !errors.Is(err, stored.ErrJournalRefused) || refused.Path != dir):
				t.Errorf("took %q, %v", page, err)
			}
			if page, err := take(t, dir); page != "" || err != nil {
				t.Errorf("the second time: %q, %v", page, err)
			}
			if page, err := take(t, other); page != "" {
				t.Errorf("from the copy: %q, %v", page, err)
			}
		})
	}
}

func TestEarlierFilesPutBackAreRefused(t *testing.T) {
	for _, names := range [][]string{{oddName}, {evenName}, {oddName, evenName}} {
		dir := filepath.Join(t.TempDir(), "journal")
		j, err := Open(Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Take(); err != nil {
			t.Fatal(err)
		}
		earlier := map[string][]byte{}
		for i := range 8 {
			if err := j.Keep(fmt.Appendf(nil, "page %d", i)); err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				if i == 4 {
					if earlier[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		later(t)
		for name, content := range earlier {
			if err := os.WriteFile(filepath.Join(dir, name), content, fileMode); err != nil {
				t.Fatal(err)
			}
		}
		if page, err := take(t, dir); page != "" || !errors.Is(err, stored.ErrJournalRefused) {
			t.Errorf("%v put back: took %q, %v", names, page, err)
		}
	}
}

func TestJournalOfAnotherMachineOrAnEarlierBootIsRefused(t *testing.T) {
	here, err := thisPlace()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name  string
		there Place
		taken bool
	}{
		{"the same", here, true},
		{"another boot", Place{Boot: "before"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "journal")
			kept(t, dir)
			j := openedAt(t, dir, test.there)
			if _, err := j.Take(); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(j.Keep([]byte("page")), j.Close()); err != nil {
				t.Fatal(err)
			}
			j = openedAt(t, dir, here)
			page, err := j.Take()
			if test.taken && (string(page) != "page" || err != nil) || !test.taken && !errors.Is(err, stored.ErrJournalRefused) {
				t.Errorf("took %q, %v", page, err)
			}
			if err := j.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFolderThatCanNotBeUsedIsSaid(t *testing.T) {
	if _, err := Open(Config{}); err == nil {
		t.Error("a journal is opened nowhere")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, fileMode); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Config{Dir: file}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a journal is opened at a file: %v", err)
	}
	j, err := Open(Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Keep([]byte("page")); err == nil || errors.Is(err, ErrFailed) {
		t.Errorf("kept before anything was taken: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}
