package openstore

import (
	"os"
	"sync"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
)

func TestMain(m *testing.M) {
	code := m.Run()
	lifetime.End()
	os.Exit(code)
}

// sharedLoss is the declared loss of a lossy engine that tests share.
const sharedLoss = 100 * time.Millisecond

var lifetime testkit.Lifetime

// engines are shared by the tests, which leave them as they are. Each starts when a test first asks for it.
var engines = func() map[string]func() testkit.Engine {
	all := map[string]func() testkit.Engine{}
	for _, name := range testkit.EngineNames() {
		all[name] = sync.OnceValue(func() testkit.Engine { return testkit.StartEngine(&lifetime, name) })
	}
	return all
}()

// opened opens a store by open, until the test ends.
func opened(t testing.TB, open func() (store.Store, error)) store.Store {
	t.Helper()
	s, err := open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // an error, where the store is away
	return s
}

// at opens the store of a URL, until the test ends.
func at(t testing.TB, url string) store.Store {
	t.Helper()
	return opened(t, func() (store.Store, error) { return Open(t.Context(), url) })
}

// lazyAt is at for a store that opens when it is used.
func lazyAt(t testing.TB, url string, told func(store.Store)) store.Store {
	t.Helper()
	return opened(t, func() (store.Store, error) { return Lazy(url, false, told) })
}

// shared is an engine that other tests use, too. A folder is the test's own.
func shared(t testing.TB, name string) testkit.Engine {
	t.Helper()
	if name == "file" {
		return testkit.StartEngine(t, name)
	}
	return engines[name]()
}
