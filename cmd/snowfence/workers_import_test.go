package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/internal/testkit"
)

// TestTakeOverThatWasInterruptedBeforeItConfirmedIsConfirmedByRunningItAgain has a
// lossy store with the floors of a run that ended before it knew them to be safe.
func TestTakeOverThatWasInterruptedBeforeItConfirmedIsConfirmedByRunningItAgain(t *testing.T) {
	e := testkit.StartEngine(t, "redis")
	at := e.URL("", 500*time.Millisecond)
	s, err := openstore.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	l := snowfence.DefaultLayout()
	r, err := roster.Create(t.Context(), roster.Config{Store: s}, l, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := r.Worker(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	var raised roster.Worker
	err = r.Operate(t.Context(), roster.Patience{NoWait: true}, func(d *roster.Desk) (err error) {
		raised, err = d.Raise(t.Context(), w, l.TickAt(time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)))
		return err
	})
	if !errors.As(err, new(*roster.UncertainError)) {
		t.Fatal(err)
	}
	p, stdout, stderr := inTest(t)
	if code := p.run(t.Context(), "workers", "import", "list", "--workers", "7", "--stopped-at", "2026-01-02T03:04:05Z", "--yes", "--store", at); code != exitOK {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	after, err := r.Worker(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	if after.Register.Write == raised.Register.Write || after.Register.Until != raised.Register.Until {
		t.Errorf("the floor was not confirmed: %+v: %s%s", after.Register, stdout, stderr)
	}
}

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
	p, stdout, stderr := inTest(t)
	config, folder := filepath.Join(t.TempDir(), "snowfence.yaml"), filepath.Join(t.TempDir(), "store")
	text := "generators:\n  a: {namespace: na, preset: twitter, datacenters: '1'}\n  b: {namespace: nb, preset: twitter, datacenters: '2, 3'}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(want int, args ...string) {
		t.Helper()
		stdout.Reset()
		stderr.Reset()
		if code := p.run(t.Context(), append(args, "--config", config, "--store", "file:"+folder, "--namespace", "nb")...); code != want {
			t.Errorf("%v: exit code %d, want %d: %s%s", args, code, want, stdout, stderr)
		}
	}
	take := []string{"workers", "import", "list", "--layout", "twitter", "--stopped-at", "2026-01-02T03:04:05Z", "--yes", "--workers", "all", "--datacenter"}
	run(exitUsage, append(take, "1")...)
	run(exitFailure, "namespace", "show") // nothing was made
	run(exitOK, append(take, "2")...)
	run(exitOK, "namespace", "show")
	if !strings.Contains(stdout.String(), "2 3 of 32") {
		t.Errorf("%s", stdout)
	}
}
