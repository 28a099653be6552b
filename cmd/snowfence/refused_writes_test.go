//go:build servers

package main

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
)

// A server that answers reads and refuses writes, as with a full disk. The daemon says so while ids go on: in its
// log, in its metrics, and in /readyz, with the server's own words.
func TestStoreThatRefusesWritesIsSaidWhileIDsGoOn(t *testing.T) {
	t.Parallel()
	config := written(t, "generators:\n  default:\n    window: 12s\n  segments:\n    kind: segment\n")
	server := testkit.Redis(t)
	set := func(replicas string) {
		t.Helper()
		if _, err := testkit.RedisCall(t.Context(), server.Addr(), "CONFIG SET min-replicas-to-write "+replicas); err != nil {
			t.Fatal(err)
		}
	}
	d := readyDaemon(t, "--config", config, "--store", "redis://"+server.Addr()+"?loss=1s")
	client := testkit.Client()
	failing := regexp.MustCompile(`snowfence_store_failing_seconds\{generator="(default|segments)"\} [0-9.e-]*[1-9]`)
	// said returns the trouble of each generator, and reports whether the daemon is ready.
	type trouble struct {
		Name, Trouble string
		Since         time.Time `json:"trouble_since"`
		Until         time.Time `json:"ids_until"`
	}
	said := func() (lease, numbers trouble, ready bool) {
		t.Helper()
		said := ask(t, http.MethodGet, d.URL+"/readyz")
		var answer struct{ Generators []trouble }
		if err := json.Unmarshal([]byte(said.body), &answer); err != nil || len(answer.Generators) != 2 {
			t.Fatalf("/readyz says %s: %v", said.body, err)
		}
		return answer.Generators[0], answer.Generators[1], said.status == http.StatusOK
	}
	set("1")
	var lease, numbers trouble
	for lease.Trouble == "" || numbers.Trouble == "" {
		_, _ = testkit.Mint(t.Context(), client, d.URL, "segments", 1, nil) // until it reserves ahead
		var ready bool
		if lease, numbers, ready = said(); !ready {
			t.Fatalf("it is not ready any more, and said no word of its trouble:\n%s", d.Log())
		}
		pause(t.Context(), 50*time.Millisecond)
	}
	if ids := (outage{daemon: d}).try(t); !ids || !lease.Until.After(lease.Since) || !strings.Contains(lease.Trouble, "the store takes no writes: ") || !strings.Contains(lease.Trouble, "NOREPLICAS") {
		t.Errorf("an id came: %v; /readyz says %+v", ids, lease)
	}
	if !strings.Contains(numbers.Trouble, "no numbers can be reserved") || !strings.Contains(numbers.Trouble, "NOREPLICAS") || numbers.Since.IsZero() {
		t.Errorf("/readyz says %+v", numbers)
	}
	if body := ask(t, http.MethodGet, d.URL+"/metrics").body; len(failing.FindAllString(body, -1)) != 2 {
		t.Errorf("the metrics do not say it:\n%s", body)
	}
	awaitLine(t, d, "WARN", "the store takes no writes", "NOREPLICAS", "left=")
	awaitLine(t, d, "WARN", "no numbers can be reserved", "NOREPLICAS")
	set("0")
	for lease.Trouble != "" || numbers.Trouble != "" {
		_, _ = testkit.Mint(t.Context(), client, d.URL, "segments", 1, nil)
		lease, numbers, _ = said()
		pause(t.Context(), 20*time.Millisecond)
	}
	awaitLine(t, d, "INFO", "the store takes writes again")
	awaitLine(t, d, "INFO", "the store gives numbers again")
}
