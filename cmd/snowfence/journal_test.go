//go:build servers

package main

import (
	"flag"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter/countertest"
	"snowfence.example/snowfence/internal/testkit"
)

var awayFor = flag.Duration("journal.away", 4*time.Second, "how long the store is away in the test of the journal")

// With a window of an hour ids flow on while the store is away, through
// kill -9 and restarts, by the journal; and no id comes twice.
func TestJournalCarriesIDsThroughCrashesWithoutTheStore(t *testing.T) {
	t.Parallel()
	data, config := t.TempDir(), written(t, "generators:\n  default:\n    window: 1h\n    journal: true\n")
	engine := testkit.StartEngine(t, "etcd")
	start := func() *testkit.Daemon {
		return readyDaemon(t, "--config", config, "--store", engine.URL("", 0), "--data", data)
	}
	d, client := start(), testkit.Client()
	var ids []snowfence.ID
	take := func() {
		t.Helper()
		var err error
		if ids, err = testkit.Mint(t.Context(), client, d.URL, "default", 1000, ids); err != nil {
			t.Fatalf("%v\n%s", err, d.Log())
		}
	}
	take()
	engine.Server.Kill()
	gone := time.Now()
	for restarts := 1; time.Since(gone) < *awayFor; restarts++ {
		for range 20 {
			take()
			pause(t.Context(), *awayFor/200)
		}
		d.Kill()
		killed := time.Now()
		d = start()
		take()
		t.Logf("killed after %s without the store; issues again %s later", killed.Sub(gone).Round(time.Millisecond), time.Since(killed).Round(time.Millisecond))
	}
	engine.Server.Start()
	take()
	t.Logf("%d ids in %s without the store", len(ids), time.Since(gone).Round(time.Second))
	if !slices.IsSorted(ids) {
		t.Error("the ids of one term do not increase")
	}
	if err := countertest.Distinct(ids); err != nil {
		t.Error(err)
	}
	// The next extension finds the register as the journal records it.
	pause(t.Context(), 2*time.Second)
	take()
	d.Kill()
}

// A daemon that is started again with another store must not go on with its term: that store may have a holder of
// the same worker id. The other server accepts connections and sends nothing.
func TestJournalOfOneStoreIsNotUsedOnAnother(t *testing.T) {
	t.Parallel()
	data, config := t.TempDir(), written(t, "generators:\n  default:\n    window: 30s\n    workers: 5-5\n")
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() }) // nobody accepts: the system does
	first, second := testkit.Redis(t).Addr(), silent.Addr().String()
	start := func(address string) *testkit.Daemon {
		return startDaemon(t, "--config", config, "--store", "redis://"+address+"/0?loss=1s", "--data", data)
	}
	d, client := start(first), testkit.Client()
	d.WaitReady()
	if _, err := testkit.Mint(t.Context(), client, d.URL, "default", 100, nil); err != nil {
		t.Fatal(err)
	}
	ended(t, d)
	d = start(second)
	refused := func() bool {
		return strings.Contains(d.Log(), "the journal's term is not resumed") && strings.Contains(d.Log(), "redis://"+first+"/0") && strings.Contains(d.Log(), "redis://"+second+"/0")
	}
	for begun := time.Now(); !refused(); pause(t.Context(), 50*time.Millisecond) {
		if ids, err := testkit.Mint(t.Context(), client, d.URL, "default", 100, nil); err == nil {
			t.Fatalf("it issues ids of the other store's term, such as %d:\n%s", ids[0], d.Log())
		}
		if time.Since(begun) > time.Minute {
			t.Fatalf("the log does not name the two stores:\n%s", d.Log())
		}
	}
	if ids, err := testkit.Mint(t.Context(), client, d.URL, "default", 1, nil); err == nil {
		t.Fatalf("it issues ids of the other store's term, such as %d:\n%s", ids[0], d.Log())
	}
	d.Kill()
}
