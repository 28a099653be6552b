package main

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
)

// When the store goes away, ids flow until the window ends. Then requests are refused with a time to
// come back, and after the store's return ids flow again. For how long they flow, and how soon they come
// again, is shown in virtual time: see package fence.
func TestIDsOutliveTheStoreByTheWindowAndComeBackWithIt(t *testing.T) {
	t.Parallel()
	config := written(t, "generators:\n  default:\n    window: 2s\n    policy:\n      max-wait: 2ms\n")
	left := regexp.MustCompile(`\nsnowfence_lease_remaining_seconds\{generator="default"\} [0-9.]*[1-9]`) // more than nothing
	for _, name := range testkit.EngineNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := testkit.StartEngine(t, name)
			o := outage{engine: engine}
			o.daemon = readyDaemon(t, "--config", config, "--store", engine.URL("", 500*time.Millisecond), "--data", t.TempDir())
			o.until(t, true)
			restore := o.away(t)
			if !o.try(t) && left.MatchString(ask(t, http.MethodGet, o.daemon.URL+"/metrics").body) {
				t.Errorf("no id without the store:\n%s", o.daemon.Log())
			}
			o.until(t, false)
			for range 20 {
				if o.try(t) {
					t.Fatal("issues again without a store")
				}
				pause(t.Context(), 50*time.Millisecond)
			}
			restore()
			o.until(t, true)
			if server := engine.Server; server != nil {
				// Also from a library that waits for a connection until it is told to stop.
				why := "connection refused"
				if name == "nats" {
					why = "no servers available for connection" // its library says no more
				}
				if log := o.daemon.Log(); !strings.Contains(log, why) || !strings.Contains(log, server.Addr()) {
					t.Errorf("the log does not name the store that could not be reached, and why:\n%s", log)
				}
			}
		})
	}
}

// outage is a daemon whose store goes away.
type outage struct {
	engine testkit.Engine
	daemon *testkit.Daemon
}

// until asks for ids until they are issued, or refused.
func (o outage) until(t *testing.T, issued bool) {
	t.Helper()
	for begun := time.Now(); o.try(t) != issued; pause(t.Context(), 2*time.Millisecond) {
		if time.Since(begun) > 2*time.Minute {
			t.Fatalf("issues ids: %t, and that does not change:\n%s", !issued, o.daemon.Log())
		}
	}
}

// away takes the store away until restore is called.
func (o outage) away(t *testing.T) (restore func()) {
	t.Helper()
	if o.engine.Server != nil {
		o.engine.Server.Kill()
		return o.engine.Server.Start
	}
	folder := strings.TrimPrefix(o.engine.URL("", 0), "file:")
	return testkit.TakeFolder(t, folder)
}

// try asks for an id and reports whether it came. Every other answer must be a 503 with a time to come
// back.
func (o outage) try(t *testing.T) bool {
	t.Helper()
	answer := ask(t, http.MethodPost, o.daemon.URL+"/v1/generators/default/ids")
	if answer.status == http.StatusOK {
		return true
	}
	seconds, err := strconv.Atoi(answer.header.Get("Retry-After"))
	if answer.status != http.StatusServiceUnavailable || err != nil || seconds < 1 || !strings.Contains(answer.body, `"type"`) {
		t.Fatalf("no id, and no time to come back: %+v", answer)
	}
	return false
}
