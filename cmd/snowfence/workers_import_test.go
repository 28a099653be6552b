package main

import (
	"path/filepath"
	"strings"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
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
	if said := run(exitOK, "namespace", "show"); !strings.Contains(said, "2 3 of 32") {
		t.Errorf("%s", said)
	}
}
