package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/disk"
	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/storetest"
)

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func swap(t *testing.T, s store.Store, key string, prev store.Version, value string) store.Version {
	t.Helper()
	version, err := s.Swap(t.Context(), key, prev, []byte(value))
	if err != nil {
		t.Fatalf("swap %q to %q: %v", key, value, err)
	}
	return version
}

func TestConformance(t *testing.T) {
	folder := func(t *testing.T) string { return filepath.Join(t.TempDir(), "store") }
	t.Run("bare", func(t *testing.T) {
		dir := folder(t)
		storetest.Run(t, storetest.Harness{
			Open: func(ctx context.Context) (store.Store, error) { return Open(ctx, Config{Dir: dir}) },
			OpenLossy: func(context.Context) (store.Store, func(), error) {
				s, err := Open(t.Context(), Config{Dir: dir})
				if err != nil {
					return nil, nil, err
				}
				faulty := faultstore.New(s, nil, nil)
				loseNext := func() {
					faulty.Follow(func(call faultstore.Call) (f faultstore.Fault) {
						f.LostReply = call.Verb == faultstore.Swap
						return f
					})
				}
				return faulty, loseNext, nil
			},
		})
	})
	t.Run("faulty", func(t *testing.T) {
		// All at once: each alone is for stores in memory, whose calls take no fsync.
		dir := folder(t)
		for name, h := range storetest.Faulty(storetest.Harness{
			Open: func(ctx context.Context) (store.Store, error) { return Open(ctx, Config{Dir: dir}) },
		}) {
			if name == "all" {
				storetest.Run(t, h)
			}
		}
	})
}

// contentPath returns the path of the content that counts of a key's register.
func contentPath(t *testing.T, dir, key string) string {
	t.Helper()
	heads, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(registerPath(key)), "*"+headSuffix))
	if err != nil || len(heads) != 1 {
		t.Fatalf("heads %q, %v", heads, err)
	}
	h, ok := parseHead(filepath.Base(heads[0]))
	if !ok {
		t.Fatalf("%q is no head", heads[0])
	}
	return filepath.Join(filepath.Dir(heads[0]), h.after)
}

// TestVersionsDoNotRepeatAfterABackupIsRestored restores a register beneath an
// open store, which its documentation warns of, and shows that no version is
// given out twice even so.
func TestVersionsDoNotRepeatAfterABackupIsRestored(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	version := swap(t, s, "key", "", "backed up")
	path, backup := filepath.Join(dir, filepath.FromSlash(registerPath("key"))), filepath.Join(t.TempDir(), "backup")
	if err := os.CopyFS(backup, os.DirFS(path)); err != nil {
		t.Fatal(err)
	}
	seen := map[store.Version]bool{version: true}
	for range 5 {
		next := swap(t, s, "key", version, "since")
		if seen[next] {
			t.Fatalf("version %q again", next)
		}
		seen[next] = true
		if err := errors.Join(os.RemoveAll(path), os.CopyFS(path, os.DirFS(backup))); err != nil {
			t.Fatal(err)
		}
	}
}

// on opens a store as if its folder were on that file system.
func on(t *testing.T, dir string, system disk.System) (*Store, error) {
	t.Helper()
	s, err := openAt(t.Context(), Config{Dir: dir}, func(path string) (disk.System, error) {
		if path != dir {
			t.Errorf("looked at %s", path)
		}
		return system, nil
	})
	if err == nil {
		t.Cleanup(func() { _ = s.Close() })
	}
	return s, err
}

func TestNetworkFileSystemIsRefusedUntouched(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	_, err := on(t, dir, disk.System{Name: "NFS", Network: true})
	var fileError *FileError
	if !errors.Is(err, ErrNetwork) || !errors.As(err, &fileError) || fileError.Path != dir || !strings.Contains(err.Error(), "NFS") {
		t.Errorf("the error is %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
}

func TestFolderThatDoesNotLastIsWarnedOf(t *testing.T) {
	for name, test := range map[string]struct {
		system disk.System
		want   string
	}{
		"a disk":            {disk.System{Name: "ext4"}, ""},
		"memory":            {disk.System{Name: "tmpfs", Forgets: "at a reboot"}, "tmpfs forgets everything at a reboot"},
		"a container's own": {disk.System{Name: "overlayfs", Forgets: "with its container"}, "overlayfs forgets everything with its container"},
	} {
		s, err := on(t, filepath.Join(t.TempDir(), "store"), test.system)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Warnings(); (len(got) > 0) != (test.want != "") || len(got) > 0 && !strings.Contains(got[0], test.want) {
			t.Errorf("%s: warned of %q", name, got)
		}
	}
}

func TestEverythingIsForItsOwnerAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "above", "store")
	s := open(t, dir)
	swap(t, s, "key", "", "value")
	err := filepath.WalkDir(filepath.Dir(dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		switch {
		case d.IsDir():
			want = 0o700
		case d.Type() == fs.ModeSymlink:
			return nil // its own mode means nothing
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, want %v", path, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFolderThatIsNotAStoreIsRefusedUntouched(t *testing.T) {
	write := func(name, content string) func(dir string) error {
		return func(dir string) error {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return err
			}
			return os.WriteFile(path, []byte(content), 0o600)
		}
	}
	tests := []struct {
		name    string
		prepare func(dir string) error
		want    error
		names   string // the message's path
	}{
		{"somebody's document", write("letter.txt", "dear"), ErrForeign, "letter.txt"},
		{"somebody's folder", write("photos/1.jpg", ""), ErrForeign, "photos"},
		{"another program's marker", write(markerName, "#!/bin/sh\n"), ErrForeign, markerName},
		{"marker of a newer format", write(markerName, markerHead+"3\nwhatever it says\n"), ErrNewer, "format 3"},
		{"marker cut short", write(markerName, marker(2)[:40]), ErrDamaged, markerName},
		{"marker emptied", write(markerName, ""), ErrDamaged, markerName},
		{"marker altered", write(markerName, marker(2)+"x"), ErrDamaged, markerName},
		{"registers without a marker", write("registers/00/key.v/x", ""), ErrDamaged, "key.v"},
		{"registers of format 1 without a marker", write("registers/00/key.reg", "x"), ErrDamaged, "key.reg"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := test.prepare(dir); err != nil {
				t.Fatal(err)
			}
			_, err := Open(t.Context(), Config{Dir: dir})
			if !errors.Is(err, test.want) {
				t.Fatalf("error %v, want %v", err, test.want)
			}
			if !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), test.names) {
				t.Errorf("the message names no path or reason: %v", err)
			}
			names, err := os.ReadDir(dir)
			if err != nil || len(names) != 1 {
				t.Errorf("the folder holds %v now, %v", names, err)
			}
		})
	}
}

func TestEmptyVolumeBecomesAStore(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ignoredName), 0o700); err != nil {
		t.Fatal(err)
	}
	swap(t, open(t, dir), "key", "", "value")
}

func TestExistingStoreIsDemanded(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "missing"), filepath.Join(dir, "missing", "below")} {
		_, err := Open(t.Context(), Config{Dir: path, Existing: true})
		if !errors.Is(err, store.ErrNoStore) || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want store.ErrNoStore and fs.ErrNotExist", path, err)
		}
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 0 {
		t.Errorf("the folder holds %v, %v", names, err)
	}
	swap(t, open(t, dir), "key", "", "value")
	s, err := Open(t.Context(), Config{Dir: dir, Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Open(t.Context(), Config{Dir: ""}); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("an empty path: %v", err)
	}
}

// The remains of a store, or a foreign folder, are not passed over as an empty folder.
func TestFolderThatIsNotEmptyIsNotTakenForNoStore(t *testing.T) {
	foreign, damaged := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "letter"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	swap(t, open(t, damaged), "key", "", "value")
	if err := os.Remove(filepath.Join(damaged, markerName)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{foreign: ErrForeign, damaged: ErrDamaged} {
		_, err := Open(t.Context(), Config{Dir: path, Existing: true})
		if !errors.Is(err, want) || errors.Is(err, store.ErrNoStore) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

func TestKeysHaveFilesOfTheirOwn(t *testing.T) {
	keys := []string{".", "..", "/", "//", "a", "a/", "/a", "a.reg", "a/b", "a.b", "new", "/new", "a.v", "a.new", "a.reg.v", strings.Repeat("/", store.MaxKey)}
	seen := make(map[string]string)
	for _, key := range keys {
		for _, path := range []string{registerPath(key), earlierPath(key)} {
			if other, ok := seen[path]; ok {
				t.Errorf("%q and %q share %s", key, other, path)
			}
			seen[path] = key
			name := filepath.Base(path)
			if strings.Count(path, "/") != 2 || name == earlierNew {
				t.Errorf("%q: path %q", key, path)
			}
			if got, err := keyAt(shardOf(key), name); got != key || err != nil {
				t.Errorf("%q comes back as %q, %v", key, got, err)
			}
		}
		made := filepath.Base(newPath(key, storeclient.Token{1}))
		if got, err := keyAt(shardOf(key), made); got != "" || err != nil || len(made) > 255 {
			t.Errorf("%q: a first version at %q counts as one of %q, %v", key, made, got, err)
		}
		for _, other := range keys {
			if isUnfinished(made, other) != (other == key) {
				t.Errorf("%q is taken for a first version of %q", made, other)
			}
		}
	}
}

func TestKeysSpreadOverTheFolders(t *testing.T) {
	const n = 100_000
	counts := make(map[shard]int)
	for i := range n {
		counts[shardOf(fmt.Sprintf("default/worker/%07d", i))]++
	}
	for s, count := range counts {
		if count > 2*n/shards {
			t.Errorf("%s holds %d of %d", s, count, n)
		}
	}
	if len(counts) != shards {
		t.Errorf("%d folders in use", len(counts))
	}
}

func Example() {
	dir, err := os.MkdirTemp("", "snowfence")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }() // an error of an example's folder does not matter

	s, err := Open(context.Background(), Config{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	if _, err := s.Swap(ctx, "greeting", "", []byte("hello")); err != nil {
		fmt.Println(err)
		return
	}
	// The swap is on the disk. Another process that opens dir sees it.
	e, err := s.Get(ctx, "greeting")
	fmt.Println(string(e.Value), err, s.Close())
	// Output: hello <nil> <nil>
}
