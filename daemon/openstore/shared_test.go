package openstore

import (
	"os"
	"sync"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
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

// shared is an engine that other tests use, too. A folder is the test's own.
func shared(t testing.TB, name string) testkit.Engine {
	t.Helper()
	if name == "file" {
		return testkit.StartEngine(t, name)
	}
	return engines[name]()
}
