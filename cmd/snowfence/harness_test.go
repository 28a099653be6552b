package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/internal/testkit"
)

// This file has the steps that most tests with a daemon share. Faults are in subject_test.go.

const programPath = "snowfence.example/snowfence/cmd/snowfence"

// programs are functions that return the program's path, by build tags: the first test that needs it builds it.
var programs sync.Map

// executable returns the path of the program with build tags.
func executable(t testing.TB, tags string) string {
	t.Helper()
	build, _ := programs.LoadOrStore(tags, sync.OnceValue(func() string { return testkit.Build(t, programPath, tags) }))
	return build.(func() string)()
}

// output runs a command, which must end well, and returns its standard output.
func output(t testing.TB, command *exec.Cmd) string {
	t.Helper()
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s\nmake test-servers and make clients install what it needs", command, err, out, &stderr)
	}
	return string(out)
}

// startDaemon starts the program's daemon, which need not be ready.
func startDaemon(t testing.TB, arguments ...string) *testkit.Daemon {
	t.Helper()
	return testkit.StartDaemon(t, executable(t, ""), nil, arguments...)
}

// readyDaemon is a daemon that gives ids.
func readyDaemon(t testing.TB, arguments ...string) *testkit.Daemon {
	t.Helper()
	d := startDaemon(t, arguments...)
	d.WaitReady()
	return d
}

// ended ends a daemon as a service manager does.
func ended(t testing.TB, d *testkit.Daemon) {
	t.Helper()
	d.Signal(syscall.SIGTERM)
	if code := d.WaitEnded(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, d.Log())
	}
}

// awaitLine waits until a line of the daemon's log has all parts.
func awaitLine(t testing.TB, d *testkit.Daemon, parts ...string) {
	t.Helper()
	testkit.Eventually(t, func(context.Context) error {
		for line := range strings.Lines(d.Log()) {
			found := true
			for _, part := range parts {
				found = found && strings.Contains(line, part)
			}
			if found {
				return nil
			}
		}
		return fmt.Errorf("no line of the log has %q:\n%s", parts, d.Log())
	})
}

// write writes a file.
func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// written writes a file in a new folder, and returns its path.
func written(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ids.yaml")
	write(t, path, text)
	return path
}

// pageText returns a page of docs.
func pageText(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// block returns the first block of code of a page that begins with a text, behind that text.
func block(t testing.TB, page, begin string) string {
	t.Helper()
	_, rest, _ := strings.Cut(pageText(t, page), "\n```"+begin)
	text, _, found := strings.Cut(rest, "\n```\n")
	if !found {
		t.Fatalf("docs/%s has no block %q", page, begin)
	}
	return text + "\n"
}

// withTables returns a page of docs with other rows in its tables that have a head.
func withTables(t testing.TB, page, head string, rows ...string) string {
	t.Helper()
	parts := strings.Split(pageText(t, page), head)
	if len(parts) != len(rows)+1 {
		t.Fatalf("docs/%s has %d tables of the head %q, want %d", page, len(parts)-1, head, len(rows))
	}
	text := parts[0]
	for i, table := range rows {
		_, rest, _ := strings.Cut(parts[i+1], "\n\n")
		text += head + table + "\n" + rest
	}
	return text
}

// response is an answer by HTTP.
type response struct {
	status int
	header http.Header
	body   string
}

// askBy makes a request without a body. The headers are names and values in turn.
func askBy(ctx context.Context, client *http.Client, method, url string, headers ...string) (response, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		return response{}, err
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	request.Host = request.Header.Get("Host") // empty means that of the URL
	answer, err := client.Do(request)
	if err != nil {
		return response{}, err
	}
	body, err := io.ReadAll(answer.Body)
	return response{answer.StatusCode, answer.Header, string(body)}, errors.Join(err, answer.Body.Close())
}

// ask makes a request that must be answered.
func ask(t testing.TB, method, url string, headers ...string) response {
	t.Helper()
	answer, err := askBy(t.Context(), http.DefaultClient, method, url, headers...)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// verbs are the arguments that verbs and the daemon have in common.
type verbs []string

// run runs a verb, and returns its output.
func (v verbs) run(t *testing.T, verb ...string) string {
	t.Helper()
	p, _, _ := inTest(t)
	out, _ := p.must(t, exitOK, append(verb, v...)...)
	return out
}

// mint mints three ids by HTTP, and two by next.
func (v verbs) mint(t *testing.T, d *testkit.Daemon, generator string, seen once[string]) (texts []string) {
	t.Helper()
	testkit.Eventually(t, func(ctx context.Context) (err error) {
		texts, err = testkit.MintTexts(ctx, http.DefaultClient, d.URL, generator, 3)
		return err
	})
	texts = append(texts, strings.Fields(v.run(t, "next", "-g", generator, "-n", "2"))...)
	for _, text := range texts {
		seen.take(t, generator, generator+" "+text)
	}
	return texts
}

// call makes a request, and reads the JSON of its answer.
func call(t *testing.T, method, url string, into any) {
	t.Helper()
	answer := ask(t, method, url)
	if err := json.Unmarshal([]byte(answer.body), into); err != nil || answer.status != http.StatusOK {
		t.Fatalf("%s %s: %d %s (%v)", method, url, answer.status, answer.body, err)
	}
}

// once is the callers' ids: nothing may come twice.
type once[T comparable] map[T]bool

func (o once[T]) take(t testing.TB, from string, got ...T) {
	t.Helper()
	for _, x := range got {
		if o[x] {
			t.Errorf("%s: %v comes twice", from, x)
		}
		o[x] = true
	}
}

// The servers that tests share, each test with a database of its own. A server starts when a test first asks for it.
var (
	lifetime   testkit.Lifetime
	databases  atomic.Int64
	sqlServers = map[string]func() *testkit.Server{
		"postgres": sync.OnceValue(func() *testkit.Server { return testkit.Postgres(&lifetime) }),
		"mysql":    sync.OnceValue(func() *testkit.Server { return testkit.MariaDB(&lifetime) }),
	}
)

// database makes a database on the shared server of a scheme, "postgres" or "mysql", and runs statements in it. It
// returns its URL, and a pool of its connections.
func database(t *testing.T, scheme string, statements ...string) (at string, db *sql.DB) {
	t.Helper()
	server, name := sqlServers[scheme]().Addr(), fmt.Sprint("own", databases.Add(1))
	execute(t, testkit.SQLURL(scheme, server, testkit.SQLDatabase), "CREATE DATABASE "+name)
	at = testkit.SQLURL(scheme, server, name)
	return at, execute(t, at, statements...)
}

// execute runs statements in a database, and returns a pool of its connections.
func execute(t *testing.T, at string, statements ...string) *sql.DB {
	t.Helper()
	db, err := openstore.OpenDatabase(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return db.DB
}

// emptyStore returns the URL of a new store of an engine. A lossy engine declares the loss.
func emptyStore(t *testing.T, engine string, loss time.Duration) (at string, lossy bool) {
	t.Helper()
	if sqlServers[engine] == nil {
		e := testkit.StartEngine(t, engine)
		return e.URL("", loss), e.Lossy
	}
	at, _ = database(t, engine)
	return at + "?durable=true", false
}
