package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store/filestore"
)

func TestTakeOverWithARegisterThatCannotBeReadFails(t *testing.T) {
	p, stdout, stderr, s, folder := inStore(t, snowfence.DefaultLayout())
	if _, err := s.Swap(t.Context(), stored.RegisterKey("default", snowfence.DefaultLayout(), 7), "", []byte("{")); err != nil {
		t.Fatal(err)
	}
	code := p.run(t.Context(), "workers", "import", "list", "--workers", "6-8", "--stopped-at", "2026-01-02T03:04:05Z", "--store", "file:"+folder, "--yes", "-o", "json")
	got := lines(t, stdout.String())
	if code != exitFailure || len(got) != 4 || got[0].Action != "create" || got[1].Action != "unset" || got[2].Action != "create" || !strings.Contains(stderr.String(), "worker 7: what can't be read") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

// TestNewNamespaceHasTheDatacentersOfItsOwnGenerator configures several
// generators; a namespace that is made with other datacenters keeps its daemon
// from ever using it.
func TestNewNamespaceHasTheDatacentersOfItsOwnGenerator(t *testing.T) {
	p, _, _ := inTest(t)
	folder := filepath.Join(t.TempDir(), "store")
	text := "generators:\n  a: {namespace: na, preset: twitter, datacenters: '1'}\n  b: {namespace: nb, preset: twitter, datacenters: '2, 3'}\n"
	config := written(t, text)
	run := func(want int, args ...string) string {
		t.Helper()
		stdout, _ := p.must(t, want, append(args, "--config", config, "--store", "file:"+folder, "--namespace", "nb")...)
		return stdout
	}
	take := []string{"workers", "import", "list", "--layout", "twitter", "--stopped-at", "2026-01-02T03:04:05Z", "--yes", "--workers", "all", "--datacenter"}
	run(exitUsage, append(take, "1")...)
	run(exitFailure, "namespace", "show") // nothing was made
	run(exitOK, append(take, "2")...)
	if said := run(exitOK, "namespace", "show"); !strings.Contains(said, "[2,3]") {
		t.Errorf("%s", said)
	}
}

// TestNextSaysWhoseWorkerIDItWaitsFor has a namespace of one worker id, which another holder has.
func TestNextSaysWhoseWorkerIDItWaitsFor(t *testing.T) {
	dir := t.TempDir()
	args := []string{"next", "--store", "file:" + dir, "--layout", "ms41-seq1"}
	p, _, stderr := inTest(t)
	const made = "snowfence: made a new namespace \"default\" in file:"
	if code := p.run(t.Context(), args...); code != exitOK || !strings.Contains(stderr.String(), made) {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	s, err := filestore.Open(t.Context(), filestore.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	holder, err := fence.Open(t.Context(), fence.Config{Store: s, Process: fence.Process{Host: "elsewhere", PID: 7}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Close(context.Background()) }()

	said, writer := io.Pipe()
	p.stderr = writer
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		p.run(ctx, args...)
		_ = writer.Close()
	}()
	lines := bufio.NewScanner(said)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "snowfence: waiting for ") ||
		!strings.Contains(lines.Text(), "held by pid 7 on host elsewhere until ") || !strings.HasSuffix(lines.Text(), " at most; Ctrl-C ends it") {
		t.Errorf("it printed %q", lines.Text())
	}
	cancel()
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "snowfence: it was still waiting for ") {
			return
		}
	}
	t.Error("interrupted, it does not name its wait")
}

// TestOperatorsVerbsWorkOnEveryEngine takes over into a namespace of a real
// server, releases a worker id under its running holder, and looks at it all.
func TestOperatorsVerbsWorkOnEveryEngine(t *testing.T) {
	t.Parallel()
	for _, name := range testkit.EngineNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, lossy := emptyStore(t, name, 500*time.Millisecond)
			p, _, _ := inTest(t)
			run := func(want int, args ...string) string {
				t.Helper()
				stdout, _ := p.must(t, want, append(args, "--store", at)...)
				return stdout
			}
			expect := func(said string, parts ...string) {
				t.Helper()
				for _, part := range parts {
					if !strings.Contains(said, part) {
						t.Errorf("%q is not in %s", part, said)
					}
				}
			}

			// Nothing is there, and reading leaves it so.
			for _, verb := range []string{"namespace show", "namespace verify", "workers list", "workers show 7", "workers release 7", "workers quarantine 7 --yes"} {
				run(exitFailure, strings.Fields(verb)...)
			}
			expect(run(exitOK, "workers", "import", "list", "--workers", "5-9", "--layout", "default", "--stopped-at", "2026-01-02T03:04:05Z"), "which is new")
			_, said := p.must(t, exitUsage, "merge-check", "old=layout:twitter#0", "new=namespace:"+at)
			expect(said, "side new: "+engine.Redact(at)+": ")
			nothingIsThere(t, name, at)

			take := []string{"workers", "import", "list", "--workers", "5-9", "--layout", "default", "--stopped-at", "2026-01-02T03:04:05Z", "--yes"}
			expect(run(exitOK, take...), "5-9      create", "5 worker ids; 5 written")
			expect(run(exitOK, take...), "5-9      keep", "5 worker ids; 0 ")

			s := opened(t, at)
			traits, err := s.Traits(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			worker := int64(7)
			lost := make(chan error, 8)
			h, err := fence.Open(t.Context(), fence.Config{Store: s, Worker: &worker, Window: 12 * time.Second, OnLoss: func(l fence.Loss) { lost <- l.Reason }})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
				defer cancel()
				_ = h.Close(ctx)
			})
			seen := map[snowfence.ID]bool{}
			mint := func() bool {
				id, err := h.Next(t.Context())
				if err == nil && seen[id] {
					t.Fatalf("id %s repeats", id)
				}
				seen[id] = true
				return err == nil
			}
			mint()
			expect(run(exitOK, "workers", "list", "-o", "json"), `"type":"worker","worker":7,"state":"held"`, `"taken":1`, `"registers":5`)
			expect(run(exitOK, "namespace", "list", "-o", "json"), `{"namespace":"default",`, `"capacity":1024,"registers":5,"held":1}`)
			expect(run(exitOK, "workers", "show", "7"), "held\n", "no worker id is free: worker 7")
			cost := "a holder that lives claims another worker id once it notices, if one is free"
			if lossy {
				cost = "a holder that lives gives no ids for 500ms: it claims another worker id, if one is free, and this store can lose a claim for so long"
			}
			expect(run(exitOK, "workers", "release", "7"), cost)
			// Its holder may just be extending.
			p, stdout, stderr := inTest(t)
			for try := 0; ; try++ {
				if code := p.run(t.Context(), "workers", "release", "7", "--yes", "--store", at); code == exitOK {
					break
				} else if code != exitUnavailable || try == 10 {
					t.Fatalf("release: exit code %d: %s", code, stderr)
				}
			}
			expect(stdout.String(), "worker 7 has no holder any more")
			deadline := time.NewTimer(testkit.Hang)
			defer deadline.Stop()
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for waiting := true; waiting; {
				select {
				case reason := <-lost:
					if !errors.Is(reason, fence.ErrLost) {
						t.Errorf("lost: %v", reason)
					}
					waiting = false
				case <-tick.C:
					mint()
				case <-deadline.C:
					t.Fatal("the holder did not find out")
				}
			}
			// It claims again, and goes on above its earlier ids.
			for !mint() {
				select {
				case <-tick.C:
				case <-deadline.C:
					t.Fatalf("the holder issues no more: %+v", h.Status())
				}
			}

			expect(run(exitOK, "workers", "quarantine", "500", "--yes"), "worker 500 is quarantined")
			expect(run(exitOK, "workers", "list"), "  500  quarantined")
			expect(run(exitOK, "namespace", "show"), "default\n", traits.Engine+"\n")
			expect(run(exitOK, "namespace", "verify"), "namespace default: valid; 6 registers read, 0 errors")
		})
	}
}

// nothingIsThere wants that a store was never made; or has no register, where
// there is nothing else to make.
func nothingIsThere(t *testing.T, name, at string) {
	t.Helper()
	s, err := openstore.OpenExisting(t.Context(), at)
	if name != "etcd" && name != "redis" {
		if !openstore.Missing(err) {
			t.Errorf("a store was left behind (%v)", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for e, err := range s.List(t.Context(), "") {
		t.Errorf("register %q was left behind (%v)", e.Key, err)
	}
}
