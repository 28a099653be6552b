package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/storetest"
)

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
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
			Open: func(context.Context) (store.Store, error) { return Open(dir) },
			OpenLossy: func(context.Context) (store.Store, func(), error) {
				s, err := Open(dir)
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
		dir := folder(t)
		storetest.RunFaulty(t, storetest.Harness{
			Open: func(context.Context) (store.Store, error) { return Open(dir) },
		})
	})
}

// TestVersionsDoNotRepeatAfterABackupIsRestored restores a register beneath an
// open store, which its documentation warns of, and shows that no version is
// given out twice even so.
func TestVersionsDoNotRepeatAfterABackupIsRestored(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	version := swap(t, s, "key", "", "backed up")
	path := filepath.Join(dir, filepath.FromSlash(registerPath("key")))
	backup, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[store.Version]bool{version: true}
	for range 5 {
		next := swap(t, s, "key", version, "since")
		if seen[next] {
			t.Fatalf("version %q again", next)
		}
		seen[next] = true
		if err := os.WriteFile(path, backup, fileMode); err != nil {
			t.Fatal(err)
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
		if d.IsDir() {
			want = 0o700
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
			if err := os.MkdirAll(filepath.Dir(path), folderMode); err != nil {
				return err
			}
			return os.WriteFile(path, []byte(content), fileMode)
		}
	}
	tests := []struct {
		name    string
		prepare func(dir string) error
		want    error
		names   string // what the message names
	}{
		{"somebody's document", write("letter.txt", "dear"), ErrForeign, "letter.txt"},
		{"somebody's folder", write("photos/1.jpg", ""), ErrForeign, "photos"},
		{"another program's marker", write(markerName, "#!/bin/sh\n"), ErrForeign, markerName},
		{"marker of a newer format", write(markerName, markerHead+"2\nwhatever it says\n"), ErrNewer, "format 2"},
		{"marker cut short", write(markerName, marker[:40]), ErrDamaged, markerName},
		{"marker emptied", write(markerName, ""), ErrDamaged, markerName},
		{"marker altered", write(markerName, marker+"x"), ErrDamaged, markerName},
		{"registers without a marker", write("registers/00/key.reg", "x"), ErrDamaged, "key.reg"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := test.prepare(dir); err != nil {
				t.Fatal(err)
			}
			_, err := Open(dir)
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
	if err := os.Mkdir(filepath.Join(dir, ignoredName), folderMode); err != nil {
		t.Fatal(err)
	}
	swap(t, open(t, dir), "key", "", "value")
}

func TestExistingStoreIsDemanded(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "missing")} {
		if _, err := OpenWith(t.Context(), Config{Dir: path, Existing: true}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: error %v, want fs.ErrNotExist", path, err)
		}
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 0 {
		t.Errorf("the folder holds %v, %v", names, err)
	}
	swap(t, open(t, dir), "key", "", "value")
	s, err := OpenWith(t.Context(), Config{Dir: dir, Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Open(""); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("an empty path: %v", err)
	}
}

// TestDamagedRegisterIsNamedAndNeverTakenForAbsent damages a register in every
// way and reads it by every verb.
func TestDamagedRegisterIsNamedAndNeverTakenForAbsent(t *testing.T) {
	whole := encodeRegister("key", token{1}, []byte("value"))
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
		{"another key's", encodeRegister("yek", token{1}, []byte("value")), ErrForeign},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			version := swap(t, s, "key", "", "value")
			path := filepath.Join(dir, filepath.FromSlash(registerPath("key")))
			if err := os.WriteFile(path, test.content, fileMode); err != nil {
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
				case !strings.Contains(err.Error(), "key.reg"):
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
	// What can't be a register is no matter.
	for _, name := range []string{".DS_Store", newName, "key.reg~"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, fileMode); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := list(); n != 1 || err != nil {
		t.Errorf("%d registers, %v", n, err)
	}
	// What claims to be one is.
	for _, name := range []string{"Key.reg", ".reg", "stray.reg"} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, nil, fileMode); err != nil {
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
			s, err := Open(dir)
			if err != nil {
				return err
			}
			return s.Close()
		}},
		{"its lock removed", func(dir string) error { return os.Remove(filepath.Join(dir, lockName)) }},
		{"its lock replaced", func(dir string) error {
			path := filepath.Join(dir, lockName)
			if err := os.Rename(path, path+"-old"); err != nil {
				return err
			}
			return os.WriteFile(path, nil, fileMode)
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
				content, err := os.ReadFile(filepath.Join(where, filepath.FromSlash(registerPath("key"))))
				if err == nil && strings.Contains(string(content), "after") {
					t.Errorf("%s was written to", where)
				}
			}
		})
	}
}

func TestWaitForTheLockEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	holder, waiter := open(t, dir), open(t, dir)
	version := swap(t, holder, "key", "", "before")
	if err := holder.acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	clock := &countingClock{limit: 10, reached: cancel}
	waiter.clock = clock
	if _, err := waiter.Swap(ctx, "key", version, []byte("too late")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	// It waits longer and longer instead of spinning.
	ms := time.Millisecond
	if want := []time.Duration{ms, 2 * ms, 4 * ms, 8 * ms, 16 * ms, 16 * ms}; len(clock.waits) < 10 || !slices.Equal(clock.waits[:6], want) {
		t.Errorf("waits %v, want %v and so on", clock.waits, want)
	}
	holder.release()
	if e, err := holder.Get(t.Context(), "key"); err != nil || e.Version != version {
		t.Errorf("a swap that was given up took effect: %q, %v", e.Value, err)
	}
	waiter.clock = &countingClock{}
	swap(t, waiter, "key", version, "after")
}

func TestCloseEndsTheWaitForTheLock(t *testing.T) {
	dir := t.TempDir()
	holder := open(t, dir)
	waiter, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	waiter.clock = &countingClock{limit: 5, reached: func() { go func() { closed <- waiter.Close() }() }}
	if _, err := waiter.Swap(t.Context(), "key", "", nil); !errors.Is(err, store.ErrClosed) {
		t.Errorf("error %v, want ErrClosed", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("close: %v", err)
	}
	holder.release()
}

// TestContextEndsASwapThatTheDiskHoldsUp lets the disk hang in a swap: its
// caller is let go, its outcome stays open, and the lock stays with it.
func TestContextEndsASwapThatTheDiskHoldsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		p := &process{machine: m}
		hung := &hangingDisk{disk: p, hang: make(chan struct{})}
		s, err := openOn(t.Context(), hung, "/simulated", Config{})
		if err != nil {
			t.Fatal(err)
		}
		hung.armed = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Swap(ctx, "key", "", []byte("value")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want context.DeadlineExceeded", err)
		}
		// The next caller waits for its turn, and no longer than it wants.
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Swap(ctx, "key", "", []byte("another")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want context.DeadlineExceeded", err)
		}
		close(hung.hang)
		synctest.Wait()
		if e, err := s.Get(t.Context(), "key"); err != nil || string(e.Value) != "value" {
			t.Errorf("%q, %v: the swap went on, and took effect", e.Value, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// hangingDisk is a disk whose renames hang.
type hangingDisk struct {
	disk
	armed bool
	hang  chan struct{}
}

func (d *hangingDisk) rename(from, to string) error {
	if d.armed {
		<-d.hang
	}
	return d.disk.rename(from, to)
}

func TestKeysHaveFilesOfTheirOwn(t *testing.T) {
	keys := []string{".", "..", "/", "//", "a", "a/", "/a", "a.reg", "a/b", "a.b", "new", "/new", strings.Repeat("/", store.MaxKey)}
	seen := make(map[string]string)
	for _, key := range keys {
		path := registerPath(key)
		if other, ok := seen[path]; ok {
			t.Errorf("%q and %q share %s", key, other, path)
		}
		seen[path] = key
		name := filepath.Base(path)
		if len(name) > 255 || name == newName || strings.Count(path, "/") != 2 {
			t.Errorf("%q: path %q", key, path)
		}
		if got, err := keyAt(shardOf(key), name); got != key || err != nil {
			t.Errorf("%q comes back as %q, %v", key, got, err)
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
	defer func() { _ = os.RemoveAll(dir) }() // an example's folder is worth no error

	s, err := Open(dir)
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

func BenchmarkGet(b *testing.B) {
	s, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.Swap(b.Context(), "key", "", make([]byte, 200)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Get(b.Context(), "key"); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Error(err)
	}
}

func BenchmarkSwap(b *testing.B) {
	s, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	var version store.Version
	value := make([]byte, 200)
	b.ReportAllocs()
	for b.Loop() {
		if version, err = s.Swap(b.Context(), "key", version, value); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Error(err)
	}
}

// BenchmarkFsync is the unit that BenchmarkSwap is to be measured by.
func BenchmarkFsync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "file"))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := f.Write(make([]byte, 300)); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		b.Error(err)
	}
}
