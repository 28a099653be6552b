package etcdstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/etcdstore"
)

func TestFullServerRefusesSwapsAndShowsWhatItHas(t *testing.T) {
	t.Parallel()
	server, s, raw := opened(t, "--quota-backend-bytes", "262144")
	version := servertest.Swap(t, s, "key", "", "before")
	for filled := 0; ; filled++ {
		if _, err := raw.Put(t.Context(), "ballast", strings.Repeat("b", 64<<10)); err != nil {
			break
		} else if filled > 64 {
			t.Fatal("it always has room")
		}
	}
	if _, err := s.Swap(t.Context(), "key", version, []byte("lost")); err == nil || errors.Is(err, store.ErrConflict) || !strings.Contains(err.Error(), "space exceeded") {
		t.Errorf("swap: %v", err)
	}
	if e, err := s.Get(t.Context(), "key"); err != nil || e.Version != version {
		t.Errorf("get: %+v, %v", e, err)
	}
	if err := servertest.Listed(t.Context(), s, "", nil); err != nil {
		t.Errorf("list: %v", err)
	}
	// Once its operator has made room it goes on.
	current, err := raw.Get(t.Context(), "ballast")
	if err != nil {
		t.Fatal(err)
	}
	_, compacted := raw.Compact(t.Context(), current.Header.GetRevision(), clientv3.WithCompactPhysical())
	_, defragmented := raw.Defragment(t.Context(), server.Addr())
	_, disarmed := raw.AlarmDisarm(t.Context(), &clientv3.AlarmMember{})
	if err := errors.Join(compacted, defragmented, disarmed); err != nil {
		t.Fatal(err)
	}
	servertest.Swap(t, s, "key", version, "after")
}

func TestCompactionDoesNotHurt(t *testing.T) {
	t.Parallel()
	_, s, raw := opened(t)
	versions := map[string]store.Version{}
	const n = 600 // some pages
	for i := range n {
		key := fmt.Sprintf("k/%d", i)
		versions[key] = servertest.Swap(t, s, key, "", "first")
	}
	compact := func() {
		t.Helper()
		response, err := raw.Put(t.Context(), "elsewhere", "now")
		if err == nil {
			_, err = raw.Compact(t.Context(), response.Header.GetRevision(), clientv3.WithCompactPhysical())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for e, err := range s.List(t.Context(), "k/") {
		if err != nil || e.Version != versions[e.Key] || seen[e.Key] {
			t.Fatalf("%+v, %v", e, err)
		}
		if seen[e.Key] = true; len(seen)%200 == 0 {
			compact() // while the list is under way
		}
	}
	if len(seen) != n {
		t.Errorf("%d registers, want %d", len(seen), n)
	}
	servertest.Swap(t, s, "k/0", versions["k/0"], "second") // under a version from before the compaction
}

func TestPausedMajorityAcknowledgesNothing(t *testing.T) {
	t.Parallel()
	servers, leader, s := cluster(t)
	version := servertest.Swap(t, s, "key", "", "before")
	var left *testkit.Server
	paused := []*testkit.Server{leader}
	for _, server := range servers {
		switch {
		case server == leader:
		case len(paused) < 2:
			paused = append(paused, server)
		default:
			left = server
		}
	}
	for _, server := range paused {
		server.Pause()
	}
	// The one that is left answers, without a vote.
	alone := etcdstore.Config{Endpoints: []string{left.Addr()}}
	tried := map[string]bool{"before": true}
	for i := range 12 {
		value := fmt.Sprint("swap ", i)
		tried[value] = true
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		if _, err := s.Swap(ctx, "key", version, []byte(value)); err == nil || errors.Is(err, store.ErrConflict) {
			t.Errorf("%s: %v from a minority", value, err)
		}
		cancel()
	}
	begun := time.Now()
	if err := servertest.Refusal(t, etcdstore.Open, alone); err == nil || !strings.Contains(err.Error(), "no leader") {
		t.Errorf("opened on a member that is cut off: %v", err)
	} else if took := time.Since(begun); took > 6*time.Second {
		t.Errorf("refused after %v", took)
	}
	for _, server := range paused {
		server.Resume()
	}
	// Requests to the paused ones may still take effect, but no more than
	// one of them, and nothing else.
	late, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	for late.Err() == nil {
		ctx, cancel := context.WithTimeout(late, time.Second)
		e, err := s.Get(ctx, "key")
		if err == nil && !tried[string(e.Value)] {
			t.Fatalf("the register holds %q", e.Value)
		}
		if err == nil {
			_, err = s.Swap(ctx, "key", e.Version, []byte("after"))
		}
		cancel()
		if err == nil {
			return
		}
		tried["after"] = true
	}
	t.Error("it does not go on with its majority")
}

// A store is silent: failures are in the errors. The test runs itself
// again, to see all that a process writes.
func TestClientWritesNoLog(t *testing.T) {
	const variable = "SNOWFENCE_TEST_ETCD_QUIET"
	if address := os.Getenv(variable); address != "" {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := etcdstore.Open(ctx, etcdstore.Config{Endpoints: []string{address}, User: "ids", Password: "hush"}); err == nil {
			t.Error("opened without servers")
		}
		return
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestClientWritesNoLog$")
	command.Env = append(command.Environ(), fmt.Sprintf("%s=127.0.0.1:%d", variable, testkit.FreePort(t)))
	out, err := command.CombinedOutput()
	if lines := strings.Split(strings.TrimSpace(string(out)), "\n"); err != nil || lines[0] != "PASS" || len(lines) > 2 {
		t.Errorf("%v, and it wrote:\n%s", err, out)
	}
}
