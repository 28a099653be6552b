package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
)

// outageWindow is the window of the daemons whose store goes away, and
// outageThird from one extension to the next.
const (
	outageWindow = 3 * time.Second
	outageThird  = outageWindow / 3
)

// When the store goes away, ids flow until the window ends: for two thirds of it
// at least, and for one on a lossy store, where a bound is usable with the next
// extension only. Then requests are refused with a time to come back, and soon
// after the store's return ids flow again.
func TestIDsOutliveTheStoreByTheWindowAndComeBackWithIt(t *testing.T) {
	binary := testkit.Build(t, programPath, "")
	config := filepath.Join(t.TempDir(), "snowfence.yaml")
	content := "generators:\n  default:\n    window: " + outageWindow.String() + "\n    policy:\n      max-wait: 2ms\n"
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range testkit.EngineNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := testkit.StartEngine(t, name)
			o := outage{engine: engine, client: testkit.Client(), floor: 2 * outageThird}
			if engine.Lossy {
				o.floor = outageThird
			}
			o.daemon = testkit.StartDaemon(t, binary, nil, "--config", config, "--store", engine.URL("", chaosLoss), "--data", t.TempDir())
			o.daemon.WaitReady(30 * time.Second)
			o.watch(t)
			limit := time.Second + engine.LossOf(chaosLoss)
			// The time to the first id is measured on a machine that runs all engines at
			// once, so a return that is late is looked at again: twice, both in time.
			took := []time.Duration{o.run(t)}
			if took[0] > limit {
				took = append(took, o.run(t), o.run(t))
			}
			if slices.Sort(took); took[len(took)/2] > limit {
				t.Errorf("issues again %s after the store's return, want at most %s:\n%s", took, limit, o.daemon.Log())
			}
			if server := engine.Server; server != nil {
				// Also from a library that waits for a connection until it is told to stop.
				why := "connection refused"
				if name == "nats" {
					why = "no servers available for connection" // its library says no more
				}
				if log := o.daemon.Log(); !strings.Contains(log, why) || !strings.Contains(log, server.Addr()) {
					t.Errorf("the log does not say what could not be reached, and why:\n%s", log)
				}
			}
		})
	}
}

// outage is a daemon whose store goes away.
type outage struct {
	engine testkit.Engine
	daemon *testkit.Daemon
	client *http.Client
	floor  time.Duration // for how long ids last at the least
}

// watch looks on for a window while the store is there. What the daemon says is
// left must come down to the floor, within half of a third, and no further: so a
// third is told from two. On a machine that runs all engines at once an extension may be
// late, so there are three windows, of which one must be as it should.
func (o outage) watch(t *testing.T) {
	t.Helper()
	var seen []time.Duration
	for range 3 {
		least := outageWindow
		for begun := time.Now(); time.Since(begun) < outageWindow; pause(t.Context(), 10*time.Millisecond) {
			least = min(least, o.left(t))
		}
		if (least - o.floor).Abs() <= outageThird/2 {
			return
		}
		seen = append(seen, least)
	}
	t.Errorf("at the least it said that ids last for %s, want %s:\n%s", seen, o.floor, o.daemon.Log())
}

// run takes the daemon's store away when little is left, brings it back, and
// returns how long after that ids came again.
func (o outage) run(t *testing.T) time.Duration {
	t.Helper()
	left := o.left(t)
	for begun, fresh := time.Now(), false; !fresh || left > o.floor+outageThird/2; left = o.left(t) {
		fresh = fresh || left > o.floor+outageThird/2 // an extension was seen
		if time.Since(begun) > 2*outageWindow {
			t.Fatalf("it says that ids last for %s, want %s:\n%s", left, o.floor, o.daemon.Log())
		}
		pause(t.Context(), 2*time.Millisecond)
	}
	begun := time.Now()
	restore := o.away(t)
	ids := 0
	for o.try(t) {
		ids++
		if time.Since(begun) > outageWindow+time.Second {
			t.Fatalf("still issues %s after the store went away", time.Since(begun))
		}
		pause(t.Context(), 2*time.Millisecond)
	}
	lasted := time.Since(begun)
	if lasted < o.floor-outageThird/2 {
		t.Errorf("ids flowed for %s, want at least %s; it had said %s:\n%s", lasted, o.floor, left, o.daemon.Log())
	}
	// And the refusals go on, each with its time to come back.
	for range 20 {
		if o.try(t) {
			t.Fatal("issues again without a store")
		}
		pause(t.Context(), 50*time.Millisecond)
	}
	restore()
	back := time.Now()
	for !o.try(t) {
		if time.Since(back) > 10*time.Second {
			t.Fatalf("issues nothing %s after the store's return:\n%s", time.Since(back), o.daemon.Log())
		}
		pause(t.Context(), 2*time.Millisecond)
	}
	took := time.Since(back)
	t.Logf("%s: %d ids for %s without the store, which had said %s; again %s after its return", o.engine.Name, ids,
		lasted.Round(time.Millisecond), left.Round(time.Millisecond), took.Round(time.Millisecond))
	return took
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

// left is for how long the daemon says that ids last without the store.
func (o outage) left(t *testing.T) time.Duration {
	t.Helper()
	_, _, body := o.ask(t, http.MethodGet, "/metrics")
	_, after, _ := strings.Cut(body, "\nsnowfence_lease_remaining_seconds{generator=\"default\"} ")
	number, _, _ := strings.Cut(after, "\n")
	seconds, err := strconv.ParseFloat(number, 64)
	if err != nil {
		t.Fatalf("the metrics do not say what is left: %v", err)
	}
	return time.Duration(seconds * float64(time.Second))
}

// try asks for an id and reports whether it came. What is no id must be a 503
// with a time to come back.
func (o outage) try(t *testing.T) bool {
	t.Helper()
	status, header, body := o.ask(t, http.MethodPost, "/v1/generators/default/ids")
	if status == http.StatusOK {
		return true
	}
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	if status != http.StatusServiceUnavailable || err != nil || seconds < 1 || !strings.Contains(body, `"type"`) {
		t.Fatalf("status %d, Retry-After %q: %s", status, header.Get("Retry-After"), body)
	}
	return false
}

// ask sends the daemon a request without a body, and reads the answer.
func (o outage) ask(t *testing.T, method, path string) (status int, header http.Header, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, o.daemon.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := o.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(text)
}
