package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
)

// TestStandbyTakesOverAndIDsGoOnIncreasing ends the daemon that gives the ids of a namespace without worker
// bits, in every way, and asks whichever of two daemons gives any.
func TestStandbyTakesOverAndIDsGoOnIncreasing(t *testing.T) {
	program := testkit.Build(t, programPath, "")
	config := filepath.Join(t.TempDir(), "snowfence.yaml")
	const content = "generators:\n  default: {layout: ms41-seq22, window: 1s, standby: true, policy: {max-wait: 5ms}}\n"
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	start := func() *testkit.Daemon {
		return testkit.StartDaemon(t, program, nil, "--config", config, "--data", folder)
	}
	client := testkit.Client()
	last := int64(0)
	// next asks once, and reports whether there was an id. It must be above all before.
	next := func(d *testkit.Daemon) bool {
		t.Helper()
		client.Timeout = 2 * time.Second
		answer, err := client.Post(d.URL+"/v1/generators/default/ids", "", http.NoBody)
		if err != nil {
			return false
		}
		defer func() { _ = answer.Body.Close() }()
		var body struct{ IDs []string }
		if answer.StatusCode != http.StatusOK || json.NewDecoder(answer.Body).Decode(&body) != nil || len(body.IDs) != 1 {
			return false
		}
		id, err := strconv.ParseInt(body.IDs[0], 10, 64)
		if err != nil || id <= last {
			t.Fatalf("id %q after %d, %v", body.IDs, last, err)
		}
		last = id
		return true
	}
	holder := start()
	holder.WaitReady(30 * time.Second)
	standby := start()
	for _, end := range []struct {
		name   string
		signal syscall.Signal
		least  time.Duration
	}{{"kill", syscall.SIGKILL, time.Second / 2}, {"terminate", syscall.SIGTERM, 0}, {"stop", syscall.SIGSTOP, time.Second / 2}} {
		if !next(holder) || next(standby) {
			t.Fatalf("%s: not the first daemon alone gives ids:\n%s", end.name, standby.Log())
		}
		answer, err := client.Get(standby.URL + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		if _ = answer.Body.Close(); answer.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s: one that stands by answers %s", end.name, answer.Status)
		}
		holder.Signal(end.signal)
		began := time.Now()
		for !next(standby) {
			if time.Since(began) > 20*time.Second {
				t.Fatalf("%s: no id:\n%s", end.name, standby.Log())
			}
			pause(t.Context(), 5*time.Millisecond)
		}
		gap := time.Since(began)
		t.Logf("%s: no id for %s", end.name, gap.Round(time.Millisecond))
		if gap < end.least {
			t.Errorf("%s: ids came after %s, before the window can have ended", end.name, gap)
		}
		if end.signal == syscall.SIGSTOP {
			holder.Signal(syscall.SIGCONT)
			for range 50 {
				if next(holder) {
					t.Fatal("the daemon that was stopped gives ids beside its successor")
				}
				pause(t.Context(), 10*time.Millisecond)
			}
			if !next(standby) {
				t.Error("the successor gives none any more")
			}
			return
		}
		holder.WaitEnded(20 * time.Second)
		holder, standby = standby, start()
	}
}
