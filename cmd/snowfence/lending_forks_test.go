//go:build servers

package main

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
)

// TestForkedServerNeverRepeatsAnID has gunicorn claim a worker id, and fork four workers then. One of them is killed, so
// that another is forked.
func TestForkedServerNeverRepeatsAnID(t *testing.T) {
	t.Parallel()
	d := readyDaemon(t, "--data", t.TempDir())
	client, err := filepath.Abs("../../clients/python")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "gunicorn", "--preload", "--workers", "4", "--bind", "127.0.0.1:0", "--chdir", "testdata/lending", "server:app")
	command.Env = append(command.Environ(), "PYTHONPATH="+client, "PYTHONDONTWRITEBYTECODE=1", "SNOWFENCE_URL="+d.URL)
	g := testkit.Follow(t, command)
	if g.URL == "" {
		t.Fatalf("gunicorn ended:\n%s", g.Log())
	}
	seen, workers := once[string]{}, map[string]bool{}
	collect := func(path string) string {
		answer := ask(t, http.MethodGet, g.URL+path)
		seen.take(t, path, strings.Fields(answer.body)...)
		return answer.header.Get("X-Worker")
	}
	collect("/before")
	grow := func(want int) {
		t.Helper()
		testkit.Eventually(t, func(context.Context) error {
			if workers[collect("/ids")] = true; len(workers) < want {
				return fmt.Errorf("%d workers have answered, of %d", len(workers), want)
			}
			return nil
		})
	}
	grow(4)
	for worker := range workers {
		pid, err := strconv.Atoi(worker)
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	grow(5)
	g.Signal(syscall.SIGTERM)
	g.WaitEnded()
	t.Logf("%d ids of %d workers", len(seen), len(workers))
}

// TestClusterNeverRepeatsAnID has a primary claim a worker id before it forks four processes and starts a thread.
func TestClusterNeverRepeatsAnID(t *testing.T) {
	t.Parallel()
	d := readyDaemon(t, "--data", t.TempDir())
	command := exec.CommandContext(t.Context(), "node", "testdata/lending/cluster.mjs", "../../../../clients/javascript/snowfence.mjs", d.URL)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	seen := once[string]{}
	seen.take(t, "the cluster", strings.Fields(string(out))...)
	if want := 7000; len(seen) != want {
		t.Errorf("%d ids, want %d", len(seen), want)
	}
}
