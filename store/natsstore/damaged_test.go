package natsstore

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
)

// TestRegisterThatTheServerCannotReadIsDamaged alters a byte of a register in
// the server's file. The server answers that there is no such message, and would
// let it be created anew.
func TestRegisterThatTheServerCannotReadIsDamaged(t *testing.T) {
	server := testkit.NATS(t)
	s := open(t, of(server.Addr()))
	swap(t, s, "before", "", "a value")
	version := swap(t, s, "key", "", "a value that suffers")
	swap(t, s, "after", "", "another value")
	server.Stop()
	altered := 0
	err := filepath.WalkDir(folderOf(server), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if at := bytes.Index(content, []byte("suffers")); at >= 0 {
			altered++
			content[at] ^= 1
			err = os.WriteFile(path, content, 0o600)
		}
		return err
	})
	if err != nil || altered != 1 {
		t.Fatalf("%d files were altered: %v", altered, err)
	}
	server.Start()

	s = open(t, of(server.Addr()))
	if e, err := s.Get(t.Context(), "key"); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("get: %+v, %v, want ErrDamaged", e, err)
	}
	for _, prev := range []store.Version{"", version} {
		if _, err := s.Swap(t.Context(), "key", prev, nil); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("swap under %q: %v, want ErrDamaged", prev, err)
		}
	}
	for _, key := range []string{"before", "after"} {
		if _, err := s.Get(t.Context(), key); err != nil {
			t.Errorf("get %q: %v", key, err)
		}
	}
	if _, err := s.Get(t.Context(), "absent"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get of a register that was never made: %v", err)
	}
}
