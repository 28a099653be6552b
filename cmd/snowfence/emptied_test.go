//go:build servers

package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
)

// TestDaemonRefusesAnEmptiedStoreThatMustExist empties the table of a daemon that is down, and starts it with the
// setting and without.
func TestDaemonRefusesAnEmptiedStoreThatMustExist(t *testing.T) {
	t.Parallel()
	address, db := database(t, "postgres")
	file := configured(t, address+"?loss=200ms", "  ids: {namespace: shop}\n  users: {kind: segment, namespace: shop}\n  other: {kind: uuid}\n")
	data := t.TempDir()
	start := func(existing bool) *testkit.Daemon {
		return startDaemon(t, "--config", file, "--data", data, fmt.Sprintf("--store-must-exist=%t", existing))
	}
	expect := func(d *testkit.Daemon, lines ...string) {
		t.Helper()
		for _, line := range lines {
			awaitLine(t, d, line)
		}
	}
	empty := func(d *testkit.Daemon) {
		t.Helper()
		d.Kill() // its journal keeps a page
		if _, err := db.ExecContext(t.Context(), "TRUNCATE snowfence_registers"); err != nil {
			t.Fatal(err)
		}
	}
	const made, began = `msg="made a new namespace`, `level=INFO msg="begins a new counter`
	d := start(false)
	d.WaitReady()
	expect(d, "level=INFO "+made, began)
	empty(d)

	d = start(true)
	expect(d, "the record of namespace shop is gone", "the record of counter users of namespace shop is gone", "see docs/restoring.md")
	if ready := ask(t, "GET", d.URL+"/readyz"); ready.status != http.StatusServiceUnavailable || !strings.Contains(ready.body, "refused") {
		t.Errorf("/readyz answers %d: %s", ready.status, ready.body)
	}
	var rows int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM snowfence_registers").Scan(&rows); err != nil || rows != 0 {
		t.Errorf("%d rows were written (%v)", rows, err)
	}
	d.Kill()

	d = start(false) // the page was taken when the namespace was gone
	d.WaitReady()
	expect(d, "level=INFO "+made, began)
	verify := func() {
		t.Helper()
		p, stdout, stderr := inTest(t)
		if code := p.run(t.Context(), "namespace", "verify", "--config", file, "--namespace", "shop", "--data", data); code != exitFailure || !strings.Contains(stdout.String(), "it was begun again since") {
			t.Errorf("exit code %d: %s%s", code, stdout, stderr)
		}
	}
	verify()
	empty(d)
	d = start(false)
	d.WaitReady()
	expect(d, "level=WARN "+made, began)
	verify()
}
