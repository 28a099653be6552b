//go:build servers

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/testkit"
)

// TestSchemaIsAllThatAUserWithoutRightsNeeds has an administrator make the schema, for a user who can't.
func TestSchemaIsAllThatAUserWithoutRightsNeeds(t *testing.T) {
	t.Parallel()
	admin, _ := database(t, "postgres", "CREATE ROLE schemaless LOGIN PASSWORD '"+testkit.SQLPassword+"'")
	file := configured(t, strings.Replace(admin, testkit.SQLUser, "schemaless", 1), "  orders: {}\n  invoices: {kind: series}\n")
	verb := func(want int, args ...string) string {
		t.Helper()
		p, _, _ := inTest(t)
		stdout, stderr := p.must(t, want, append(args, "--config", file)...)
		return stdout + stderr
	}
	for _, args := range [][]string{
		{"series", "reserve", "invoices"}, {"series", "confirm", "invoices", "1", "TOKEN"}, {"next", "-g", "orders"},
	} {
		if said := verb(exitUnavailable, args...); !strings.Contains(said, "'snowfence namespace schema'") || strings.Contains(said, "no rows") {
			t.Errorf("%s without tables: %s", args, said)
		}
	}
	execute(t, admin, verb(exitOK, "namespace", "schema"), "GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO schemaless")
	verb(exitOK, "series", "reserve", "invoices")
	verb(exitOK, "next", "-g", "orders")
}

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

// A server that answers reads and refuses writes, as with a full disk. The daemon reports it while ids go on: in its
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
			t.Fatalf("/readyz answers %s: %v", said.body, err)
		}
		return answer.Generators[0], answer.Generators[1], said.status == http.StatusOK
	}
	set("1")
	var lease, numbers trouble
	for lease.Trouble == "" || numbers.Trouble == "" {
		_, _ = testkit.Mint(t.Context(), client, d.URL, "segments", 1, nil) // until it reserves ahead
		var ready bool
		if lease, numbers, ready = said(); !ready {
			t.Fatalf("it is not ready any more, and did not report its trouble:\n%s", d.Log())
		}
		pause(t.Context(), 50*time.Millisecond)
	}
	if ids := (outage{daemon: d}).try(t); !ids || !lease.Until.After(lease.Since) || !strings.Contains(lease.Trouble, "the store takes no writes: ") || !strings.Contains(lease.Trouble, "NOREPLICAS") {
		t.Errorf("an id came: %v; /readyz answers %+v", ids, lease)
	}
	if !strings.Contains(numbers.Trouble, "no numbers can be reserved") || !strings.Contains(numbers.Trouble, "NOREPLICAS") || numbers.Since.IsZero() {
		t.Errorf("/readyz answers %+v", numbers)
	}
	if body := ask(t, http.MethodGet, d.URL+"/metrics").body; len(failing.FindAllString(body, -1)) != 2 {
		t.Errorf("the metrics do not show it:\n%s", body)
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

// TestSQLColumnsAreCheckedWithFiles checks columns of a real server together with a file and standard input: two by their
// names, and one by a statement.
func TestSQLColumnsAreCheckedWithFiles(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"postgres", "mysql"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			address, _ := database(t, scheme,
				"CREATE TABLE orders_now (id BIGINT)", "INSERT INTO orders_now VALUES (21), (22)",
				"CREATE TABLE orders_old (number VARCHAR(20), id BIGINT)", "INSERT INTO orders_old VALUES ('22', 1), ('0x17', 21)")
			secret, file := strings.Replace(address, ":"+testkit.SQLPassword+"@", ":${SECRET}@", 1), written(t, "21\n24\n")
			p, _, _ := inTest(t)
			p.environ = append(p.environ, "SECRET="+testkit.SQLPassword)
			check := func(code int, arguments ...string) string {
				t.Helper()
				p.stdin = strings.NewReader("name;order\na;23\n")
				stdout, stderr := p.must(t, code, append([]string{"check"}, arguments...)...)
				if said := stdout + stderr; strings.Contains(said, testkit.SQLPassword) || strings.Contains(said, "fence%2F") {
					t.Errorf("a password is shown: %s", said)
				}
				return stdout + stderr
			}
			said := check(exitFailure, secret+"#select id from orders_now", address+"#select number from orders_old",
				"-", "--column", "order", address+"#select id from orders_old where id > 20", file+"#1")
			for _, want := range []string{
				"4 duplicates: 8 ids, 4 distinct", "from orders_now, row 1\n", "from orders_now, row 2\n", "from orders_old, row 1\n",
				"from orders_old, row 2\n    standard input, line 2\n", file + ", line 1\n",
			} {
				if !strings.Contains(said, want) {
					t.Errorf("%q is not in %s", want, said)
				}
			}
			check(exitUnavailable, "--query", "select id from none", address)
		})
	}
}

// interrupting is a standard error that interrupts its program when it reports that it waits.
type interrupting struct {
	*strings.Builder
	interrupt context.CancelCauseFunc
}

func (i interrupting) Write(b []byte) (int, error) {
	if i.interrupt != nil && strings.Contains(string(b), "waiting until") {
		i.interrupt(interruptError{syscall.SIGINT})
	}
	return i.Builder.Write(b)
}

// TestVerbsThatWriteToALossyStoreSayWhenTheyAreCertain runs each verb of operators on a Redis that can
// lose acknowledged writes.
func TestVerbsThatWriteToALossyStoreSayWhenTheyAreCertain(t *testing.T) {
	t.Parallel()
	const loss = 500 * time.Millisecond
	at := testkit.StartEngine(t, "redis").URL("", loss)
	s := opened(t, at)
	if _, err := roster.Create(t.Context(), roster.Config{Store: s}, snowfence.DefaultLayout(), nil); err != nil {
		t.Fatal(err)
	}
	segments, err := counter.OpenSegments(t.Context(), counter.SegmentsConfig{Config: counter.Config{Store: s, Name: "users", MaxWait: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := segments.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := segments.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	const imported = "workers import list --workers 20-21 --stopped-at 2026-01-02T03:04:05Z --yes"
	const waits, uncertain = "the store can lose what it acknowledged last: waiting until 20", "not certain before 20"
	for _, x := range []struct {
		verb      string
		interrupt bool
		code      int
		waits     bool
		stdout    string // a part of it; none: it is empty
		stderr    string // a part of it
	}{
		{"counters set users 10000 --yes", false, exitOK, true, "counter users is set", ""},
		{"counters set users 20000 --yes", true, exitUncertain, true, "", "snowfence: counter users: " + uncertain},
		{"counters set users 20000 --yes", false, exitOK, true, "counter users is set", ""},
		{"workers quarantine 7-9 --yes", false, exitOK, true, "worker 9 is quarantined", ""},
		{"workers quarantine 10,11 --yes", true, exitUncertain, true, "", "snowfence: 2 worker ids: " + uncertain},
		{"workers quarantine 10,11 --yes", false, exitOK, true, "is quarantined already", ""},
		{"workers quarantine 7 --clear --yes", false, exitOK, false, "worker 7 is not quarantined", ""},
		{imported, true, exitFailure, true, "", "0 of 2 worker ids were done"}, // it waits for the namespace first
		{imported, false, exitOK, true, "create", ""},
	} {
		ctx, interrupt := context.WithCancelCause(t.Context())
		p, stdout, stderr := inTest(t)
		if x.interrupt {
			p.stderr = interrupting{stderr, interrupt}
		}
		code := p.run(ctx, append(strings.Fields(x.verb), "--store", at)...)
		interrupt(nil)
		said := stderr.String()
		if code != x.code || !strings.Contains(stdout.String(), x.stdout) || (x.stdout == "") != (stdout.Len() == 0) ||
			!strings.Contains(said, x.stderr) || strings.Contains(said, waits) != x.waits {
			t.Errorf("%s: exit code %d: %s%s", x.verb, code, stdout, stderr)
		}
	}
}
