package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
)

// TestWhatMustExistIsNeverMadeOnAnyEngine mints on a store that has nothing yet, and then on one that has all.
func TestWhatMustExistIsNeverMadeOnAnyEngine(t *testing.T) {
	t.Parallel()
	for _, name := range testkit.EngineNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := emptyStore(t, name, 200*time.Millisecond)
			file := configured(t, url, "  ids: {}\n  users: {kind: segment}\n  days: {kind: daily}\n")
			for _, generator := range []string{"ids", "users", "days"} {
				mustRefuse(t, file, generator, "see docs/restoring.md")
			}
			for _, existing := range []bool{false, true} {
				for _, generator := range []string{"ids", "users", "days"} {
					if _, said, code := mintExisting(t, file, generator, existing); code != exitOK {
						t.Errorf("%s, existing %t: exit code %d: %s", generator, existing, code, said)
					}
				}
			}
			// A store that is there does not make up for a record that is not.
			file = configured(t, url, "  ids: {namespace: other}\n  users: {kind: segment, namespace: other}\n  days: {kind: daily, namespace: other}\n")
			mustRefuse(t, file, "ids", "the record of namespace other is gone")
			mustRefuse(t, file, "users", "the record of counter users of namespace other is gone")
			mustRefuse(t, file, "days", "the record of counter days of namespace other is gone")
		})
	}
}

// configured writes a configuration.
func configured(t *testing.T, store, generators string) string {
	t.Helper()
	return written(t, fmt.Sprintf("store: '%s'\ngenerators:\n%s", store, generators))
}

// mintExisting tries to mint one id without a daemon.
func mintExisting(t *testing.T, file, generator string, existing bool) (id, said string, code int) {
	t.Helper()
	p, stdout, stderr := inTest(t)
	code = p.run(t.Context(), "next", "--config", file, "-g", generator, fmt.Sprintf("--store-must-exist=%t", existing))
	return strings.TrimSpace(stdout.String()), stderr.String(), code
}

// mustMint mints one id without a daemon.
func mustMint(t *testing.T, file, generator string) (id string) {
	t.Helper()
	id, said, code := mintExisting(t, file, generator, false)
	if code != exitOK {
		t.Fatal(said)
	}
	return id
}

func mustRefuse(t *testing.T, file, generator, want string) {
	t.Helper()
	if id, said, code := mintExisting(t, file, generator, true); code != exitFailure || id != "" || !strings.Contains(said, want) || !strings.Contains(said, "docs/restoring.md") {
		t.Errorf("%s: exit code %d, id %q: %s", generator, code, id, said)
	}
}

// copied returns a copy of a folder.
func copied(t *testing.T, folder string) (copied string) {
	t.Helper()
	copied = filepath.Join(t.TempDir(), "backup")
	if err := os.CopyFS(copied, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	return copied
}

// opened opens a store until the test ends.
func opened(t *testing.T, at string) store.Store {
	t.Helper()
	s, err := openstore.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestRestoredStoreIsOlderThanWhatWasGivenOut copies a store, mints on, and puts the copy back.
func TestRestoredStoreIsOlderThanWhatWasGivenOut(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "store")
	file := configured(t, "file:"+folder, "  ids: {namespace: shop}\n  users: {kind: segment, namespace: shop, settings: {step: \"1\"}}\n")
	mint := func(generator string) string { return mustMint(t, file, generator) }
	mint("ids")
	mint("users")
	backup := copied(t, folder)
	var id string
	for range 3 { // the last one has a worker id that the backup has hardly seen
		id = mint("ids")
	}
	number := mint("users")
	ids := written(t, id+"\n")
	for at, want := range map[string]int{folder: exitOK, backup: exitFailure} {
		for _, what := range []string{"--last-id=" + id, "--ids=" + ids, "--last-number=users=" + number} {
			p, stdout, stderr := inTest(t)
			code := p.run(t.Context(), "namespace", "verify", "--store", "file:"+at, "--namespace", "shop", what)
			remedied := strings.Contains(stdout.String(), ": see docs/restoring.md")
			if code != want || remedied != (want == exitFailure) {
				t.Errorf("%s, %s: exit code %d, want %d: %s%s", at, what, code, want, stdout, stderr)
			}
		}
	}
}

// TestDamagedCounterHidesNoOther looks at a counter that can't be read, and at one behind it.
func TestDamagedCounterHidesNoOther(t *testing.T) {
	t.Parallel()
	url := "file:" + filepath.Join(t.TempDir(), "store")
	file := configured(t, url, "  users: {kind: segment, namespace: shop}\n")
	mustMint(t, file, "users")
	if _, err := opened(t, url).Swap(t.Context(), "counter/shop/broken", "", []byte("{")); err != nil {
		t.Fatal(err)
	}
	p, stdout, stderr := inTest(t)
	code := p.run(t.Context(), "namespace", "verify", "--config", file, "--namespace", "shop", "--last-number", "broken=7", "--last-number", "users=70000")
	if code != exitFailure || !strings.Contains(stdout.String(), "counter broken gave 7, and can't be compared: ") || !strings.Contains(stdout.String(), "counter users gave 70000, and the store would give it again") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

// TestEveryNamespaceOfTheConfigurationIsVerified: without flags, and the exit code is that of the worst one.
func TestEveryNamespaceOfTheConfigurationIsVerified(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "store")
	file := configured(t, "file:"+folder, "  orders: {namespace: shop}\n  returns: {namespace: shop}\n  users: {namespace: people}\n  invoices: {kind: ticket, namespace: shop}\n")
	verify := func(want int, flags ...string) string {
		t.Helper()
		p, _, _ := inTest(t)
		stdout, stderr := p.must(t, want, append([]string{"namespace", "verify", "--config", file}, flags...)...)
		return stdout + stderr
	}
	for _, name := range []string{"orders", "users"} {
		mustMint(t, file, name)
	}
	if said := verify(exitOK); strings.Count(said, "namespace shop: valid") != 1 || strings.Count(said, "namespace people: valid") != 1 {
		t.Errorf("%s", said)
	}
	s := opened(t, "file:"+folder)
	key := stored.RegisterKey("people", snowfence.DefaultLayout(), 7)
	before, err := s.Get(t.Context(), key) // "next" may have had this very worker id
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	if _, err := s.Swap(t.Context(), key, before.Version, []byte("{")); err != nil {
		t.Fatal(err)
	}
	if said := verify(exitFailure); !strings.Contains(said, "namespace people: not valid") || !strings.Contains(said, "namespace shop: valid") {
		t.Errorf("%s", said)
	}
	verify(exitOK, "-g", "orders")
	if said := verify(exitUsage, "--last-id", "5"); !strings.Contains(said, "say by -g or --namespace which one is meant") {
		t.Errorf("%s", said)
	}
}

// TestStoreThatIsBehindThisHostsJournalIsOlder has a holder with a journal on a store that was copied.
func TestStoreThatIsBehindThisHostsJournalIsOlder(t *testing.T) {
	t.Parallel()
	folder, data := filepath.Join(t.TempDir(), "store"), t.TempDir()
	file := configured(t, "file:"+folder, "  ids: {namespace: shop}\n")
	mustMint(t, file, "ids")
	backup := copied(t, folder)
	s := opened(t, "file:"+folder)
	j, err := fence.OpenJournal(filepath.Join(data, "journal", "ids"))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close() //nolint:errcheck // of a test
	h, err := fence.Open(t.Context(), fence.Config{Store: s, Namespace: "shop", Journal: j})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	verify := func(at, data string, want int, says string) {
		t.Helper()
		p, _, _ := inTest(t)
		stdout, stderr := p.must(t, want, "namespace", "verify", "--store", "file:"+at, "--namespace", "shop", "--data", data)
		if !strings.Contains(stdout+stderr, says) {
			t.Errorf("want %q: %s%s", says, stdout, stderr)
		}
	}
	verify(folder, data, exitOK, "1 page of journals compared")
	verify(backup, data, exitFailure, "the store is older than what was issued")
	verify(backup, t.TempDir(), exitOK, "nothing is known from a journal")
	// A namespace of that name on another store is not this one. On the same store it was begun again.
	elsewhere := filepath.Join(t.TempDir(), "store")
	for _, at := range []string{elsewhere, folder} {
		if at == folder {
			if err := os.RemoveAll(folder); err != nil {
				t.Fatal(err)
			}
			verify(elsewhere, data, exitOK, "nothing is known from a journal")
		}
		mustMint(t, configured(t, "file:"+at, "  ids: {namespace: shop}\n"), "ids")
	}
	verify(folder, data, exitFailure, "it was begun again since")
	ended, end := context.WithCancel(t.Context())
	end()
	_ = h.Close(ended) // its register is gone
}
