package main

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/testkit"
)

var awayFor = flag.Duration("journal.away", 10*time.Second, "how long the store is away in the test of the journal")

// With a window of an hour ids flow on while the store is away, through
// kill -9 and restarts, by the journal; and no id comes twice.
func TestJournalCarriesIDsThroughCrashesWithoutTheStore(t *testing.T) {
	t.Parallel()
	binary := testkit.Build(t, programPath, "")
	config, data := filepath.Join(t.TempDir(), "snowfence.yaml"), t.TempDir()
	if err := os.WriteFile(config, []byte("generators:\n  default:\n    window: 1h\n    journal: true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	engine := testkit.StartEngine(t, "etcd")
	start := func() *testkit.Daemon {
		d := testkit.StartDaemon(t, binary, nil, "--config", config, "--store", engine.URL("", 0), "--data", data)
		d.WaitReady(15 * time.Second)
		return d
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
	slices.Sort(ids)
	if unique := len(slices.Compact(ids)); unique != len(ids) {
		t.Errorf("%d ids are %d", len(ids), unique)
	}
	// The next extension finds the register as the journal says it was left.
	pause(t.Context(), 2*time.Second)
	take()
	d.Kill()
}
