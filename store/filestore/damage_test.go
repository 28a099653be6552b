package filestore

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

// TestDamagedRegisterIsNamedAndNeverTakenForAbsent damages a register in every
// way and reads it by every verb.
func TestDamagedRegisterIsNamedAndNeverTakenForAbsent(t *testing.T) {
	whole := encodeRegister("key", storeclient.Token{1}, []byte("value"))
	alter := func(at int, to byte) []byte {
		b := slices.Clone(whole)
		b[at] = to
		return b
	}
	tests := []struct {
		name    string
		content []byte
		want    error
	}{
		{"empty", nil, ErrDamaged},
		{"cut in the magic", whole[:4], ErrDamaged},
		{"cut in the header", whole[:20], ErrDamaged},
		{"cut in the value", whole[:30], ErrDamaged},
		{"cut by one byte", whole[:len(whole)-1], ErrDamaged},
		{"longer", append(slices.Clone(whole), 0), ErrDamaged},
		{"much longer", append(slices.Clone(whole), make([]byte, 5000)...), ErrForeign},
		{"zeros", make([]byte, len(whole)), ErrForeign},
		{"a text", []byte("Dear reader,"), ErrForeign},
		{"another value", alter(31, 'V'), ErrDamaged},
		{"another version", alter(9, 0xff), ErrDamaged},
		{"format 0", alter(7, 0), ErrDamaged},
		{"format 2", alter(7, 2), ErrNewer},
		{"another key's", encodeRegister("yek", storeclient.Token{1}, []byte("value")), ErrForeign},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			version := swap(t, s, "key", "", "value")
			path := contentPath(t, dir, "key")
			if err := os.WriteFile(path, test.content, 0o600); err != nil {
				t.Fatal(err)
			}
			_, getErr := s.Get(t.Context(), "key")
			_, createErr := s.Swap(t.Context(), "key", "", []byte("afresh"))
			_, swapErr := s.Swap(t.Context(), "key", version, []byte("on"))
			var listErr error
			for _, listErr = range s.List(t.Context(), "") {
			}
			for verb, err := range map[string]error{"get": getErr, "create": createErr, "swap": swapErr, "list": listErr} {
				switch {
				case err == nil || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict):
					t.Errorf("%s: %v", verb, err)
				case !errors.Is(err, test.want):
					t.Errorf("%s: error %v, want %v", verb, err, test.want)
				case !strings.Contains(err.Error(), path):
					t.Errorf("%s: the message does not name the file: %v", verb, err)
				}
			}
			if now, err := os.ReadFile(path); err != nil || !slices.Equal(now, test.content) {
				t.Errorf("the damaged file was changed")
			}
			// Other registers are not affected.
			swap(t, s, "another", "", "value")
		})
	}
}

// TestRegisterWithoutOneHeadAndItsContentIsDamaged shows the possible content of a plain copy of a
// folder in use: it is refused, not misread.
func TestRegisterWithoutOneHeadAndItsContentIsDamaged(t *testing.T) {
	for name, change := range map[string]func(content, head string) error{
		"no head":    func(_, head string) error { return os.Remove(head) },
		"no content": func(content, _ string) error { return os.Remove(content) },
		"two heads": func(content, head string) error {
			return os.WriteFile(content+"-"+filepath.Base(content)+headSuffix, nil, 0o600)
		},
		"content of another version": func(content, head string) error {
			other := filepath.Join(filepath.Dir(content), strings.Repeat("0", len(filepath.Base(content))))
			return errors.Join(os.Rename(content, other), os.Rename(head, strings.ReplaceAll(head, filepath.Base(content), filepath.Base(other))))
		},
		"not a thing": func(content, head string) error { return errors.Join(os.Remove(content), os.Remove(head)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			version := swap(t, s, "key", swap(t, s, "key", "", "first"), "second")
			content := contentPath(t, dir, "key")
			heads, err := filepath.Glob(filepath.Join(filepath.Dir(content), "*"+headSuffix))
			if err != nil {
				t.Fatal(err)
			}
			if err := change(content, heads[0]); err != nil {
				t.Fatal(err)
			}
			_, getErr := s.Get(t.Context(), "key")
			_, createErr := s.Swap(t.Context(), "key", "", nil)
			_, swapErr := s.Swap(t.Context(), "key", version, nil)
			for verb, err := range map[string]error{"get": getErr, "create": createErr, "swap": swapErr} {
				if !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), filepath.Dir(content)) {
					t.Errorf("%s: error %v, want store.ErrDamaged with the path", verb, err)
				}
			}
		})
	}
}

func TestForeignFileAmongRegistersIsNamedByList(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	swap(t, s, "key", "", "value")
	list := func() (n int, err error) {
		for _, err = range s.List(t.Context(), "") {
			if err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	}
	folder := filepath.Join(dir, filepath.FromSlash(shardOf("key").folder()))
	// Other names do not matter.
	for _, name := range []string{".DS_Store", earlierNew, "key.v~", filepath.Base(newPath("key", storeclient.Token{1}))} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := list(); n != 1 || err != nil {
		t.Errorf("%d registers, %v", n, err)
	}
	// A register's name does.
	for _, name := range []string{"Key.v", ".v", "stray.v", "stray.reg"} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := list(); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want ErrForeign with the path", name, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMissingFolderIsDamageAndNotEmptiness(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	swap(t, s, "key", "", "value")
	if err := os.RemoveAll(filepath.Join(dir, filepath.FromSlash(shardOf("key").folder()))); err != nil {
		t.Fatal(err)
	}
	_, getErr := s.Get(t.Context(), "key")
	_, swapErr := s.Swap(t.Context(), "key", "", []byte("afresh"))
	var listErr error
	for _, listErr = range s.List(t.Context(), "") {
	}
	for verb, err := range map[string]error{"get": getErr, "swap": swapErr, "list": listErr} {
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: error %v, want ErrDamaged", verb, err)
		}
	}
}

func TestFolderThatIsReplacedWhileOpenIsNotWrittenTo(t *testing.T) {
	moved := func(dir string) error { return os.Rename(dir, dir+"-moved") }
	tests := []struct {
		name    string
		replace func(dir string) error
	}{
		{"moved away", moved},
		{"removed", os.RemoveAll},
		{"another in its place", func(dir string) error {
			if err := moved(dir); err != nil {
				return err
			}
			s, err := Open(t.Context(), Config{Dir: dir})
			if err != nil {
				return err
			}
			return s.Close()
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			s := open(t, dir)
			version := swap(t, s, "key", "", "before")
			if err := test.replace(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Swap(t.Context(), "key", version, []byte("after")); !errors.Is(err, ErrReplaced) {
				t.Errorf("swap: error %v, want ErrReplaced", err)
			}
			if _, err := s.Get(t.Context(), "key"); !errors.Is(err, ErrReplaced) {
				t.Errorf("get: error %v, want ErrReplaced", err)
			}
			for _, where := range []string{dir, dir + "-moved"} {
				names, err := os.ReadDir(filepath.Join(where, filepath.FromSlash(registerPath("key"))))
				if err == nil && len(names) != 2 {
					t.Errorf("%s was written to: %v", where, names)
				}
			}
		})
	}
}
