package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
)

// outageWindow is the window of the daemons whose store goes away.
const outageWindow = 3 * time.Second

// When the store goes away, ids flow until the window ends, then requests are
// refused with a time to come back, and soon after the store's return ids flow
// again.
func TestIDsOutliveTheStoreByTheWindowAndComeBackWithIt(t *testing.T) {
	binary := testkit.Build(t, programPath, "")
	config := filepath.Join(t.TempDir(), "snowfence.yaml")
	content := "generators:\n  default:\n    window: " + outageWindow.String() + "\n    policy:\n      max-wait: 2ms\n"
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range testkit.EngineNames() {
		if name == "file" {
			continue // its store goes away with its host alone
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := testkit.StartEngine(t, name)
			d := testkit.StartDaemon(t, binary, nil, "--config", config, "--store", engine.URL("", chaosLoss), "--data", t.TempDir())
			d.WaitReady(30 * time.Second)
			limit := time.Second + engine.LossOf(chaosLoss)
			// A machine that is busy with something else may be late once.
			var took time.Duration
			for range 3 {
				if took = outage(t, engine, d); took <= limit {
					return
				}
			}
			t.Errorf("issues again %s after the store's return, want at most %s:\n%s", took, limit, d.Log())
		})
	}
}

// outage takes a daemon's store away and brings it back, and returns how long
// after that ids came again.
func outage(t *testing.T, engine testkit.Engine, d *testkit.Daemon) time.Duration {
	client := testkit.Client()
	engine.Server.Kill()
	gone := time.Now()
	ids := 0
	for try(t, client, d.URL) {
		ids++
		if time.Since(gone) > outageWindow+time.Second {
			t.Fatalf("still issues %s after the store went away", time.Since(gone))
		}
		pause(t.Context(), 2*time.Millisecond)
	}
	lasted := time.Since(gone)
	// The last extension was sent at most a third of a window and a try's pause
	// ago.
	if least := 2*outageWindow/3 - time.Second; lasted < least {
		t.Errorf("ids flowed for %s, want at least %s:\n%s", lasted, least, d.Log())
	}
	// And the refusals go on, each with its time to come back.
	for range 20 {
		if try(t, client, d.URL) {
			t.Fatal("issues again without a store")
		}
		pause(t.Context(), 50*time.Millisecond)
	}
	engine.Server.Start()
	back := time.Now()
	for !try(t, client, d.URL) {
		if time.Since(back) > 10*time.Second {
			t.Fatalf("issues nothing %s after the store's return:\n%s", time.Since(back), d.Log())
		}
		pause(t.Context(), 2*time.Millisecond)
	}
	took := time.Since(back)
	t.Logf("%s: %d ids for %s without the store; again %s after its return", engine.Name, ids, lasted.Round(time.Millisecond), took.Round(time.Millisecond))
	return took
}

// try asks for an id and reports whether it came. What is no id must be a 503
// with a time to come back.
func try(t *testing.T, client *http.Client, url string) bool {
	t.Helper()
	response, err := client.Post(url+"/v1/generators/default/ids", "", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode == http.StatusOK {
		return true
	}
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if response.StatusCode != http.StatusServiceUnavailable || err != nil || seconds < 1 || !strings.Contains(string(body), `"type"`) {
		t.Fatalf("status %s, Retry-After %q: %s", response.Status, response.Header.Get("Retry-After"), body)
	}
	return false
}
