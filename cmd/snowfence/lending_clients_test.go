//go:build servers

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
)

// borrowers returns the command of each client's test program, without arguments, and its environment.
func borrowers(t *testing.T) map[string]*exec.Cmd {
	t.Helper()
	path := func(parts ...string) string {
		p, err := filepath.Abs(filepath.Join(parts...))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	client := func(parts ...string) string { return path(append([]string{"..", "..", "clients"}, parts...)...) }
	program := func(name string) string { return path("testdata", "lending", name) }
	python := exec.CommandContext(t.Context(), "/usr/bin/python3", "-B", program("lending.py"))
	python.Env = append(os.Environ(), "PYTHONPATH="+client("python"))
	return map[string]*exec.Cmd{
		"Python":     python,
		"JavaScript": exec.CommandContext(t.Context(), "node", program("lending.mjs"), client("javascript", "snowfence.mjs")),
		"Java":       exec.CommandContext(t.Context(), "java", "-cp", compiled(t, "Lending"), "Lending"),
	}
}

// compiled returns the folder of a compiled program in Java with its client.
func compiled(t *testing.T, program string) string {
	t.Helper()
	classes := t.TempDir()
	compile := exec.CommandContext(t.Context(), "javac", "-Xlint:all,-serial", "-Werror", "-d", classes,
		"../../clients/java/Snowfence.java", "testdata/lending/"+program+".java")
	output(t, compile)
	return classes
}

// printed runs a program with more arguments, and returns its output.
func printed(t *testing.T, program *exec.Cmd, arguments ...string) []string {
	t.Helper()
	program.Args = append(program.Args, arguments...)
	return strings.Fields(output(t, program))
}

// vectorFile is testdata/lending.json as far as it is needed here.
type vectorFile struct {
	Cases []vectorCase `json:"cases"`
}

type vectorCase struct {
	Name  string           `json:"name"`
	Steps []map[string]any `json:"steps"`
}

// clockCases are about waits for the clock, which testdata/lending.json lacks: they keep no id from being equal.
func clockCases(claim map[string]any) []vectorCase {
	const noon = 1795608000000
	stamp := func(wall, times int, id any) map[string]any {
		return map[string]any{"do": "stamp", "wall_ms": noon + wall, "times": times, "id": id}
	}
	return []vectorCase{
		{"a slot that is ahead too far waits", []map[string]any{
			claim, stamp(7000, 1, "119044443209879552"), stamp(2000, 4096, nil), stamp(2001, 1, "119044443214073856"),
		}},
	}
}

func TestClientsPassTheVectorsForPorters(t *testing.T) {
	text, err := os.ReadFile("../../testdata/lending.json")
	if err != nil {
		t.Fatal(err)
	}
	var file vectorFile
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	file.Cases = append(file.Cases, clockCases(file.Cases[0].Steps[0])...)
	whole, flat, steps := filepath.Join(t.TempDir(), "lending.json"), filepath.Join(t.TempDir(), "lending.txt"), 0
	var table strings.Builder // for Java, whose standard library reads no JSON
	for _, c := range file.Cases {
		for _, step := range c.Steps {
			bare := map[string]any{}
			for name, value := range step {
				if name != "answer" {
					bare[name] = value
				}
			}
			fmt.Fprintf(&table, "%s\t%s\t%s\n", c.Name, encoded(t, bare), encoded(t, step["answer"]))
			steps++
		}
	}
	write(t, whole, encoded(t, file))
	write(t, flat, table.String())
	for name, program := range borrowers(t) {
		t.Run(name, func(t *testing.T) {
			path := whole
			if name == "Java" {
				path = flat
			}
			if got := printed(t, program, "vectors", path); len(got) < steps {
				t.Errorf("%d words about %d steps", len(got), steps)
			}
		})
	}
}

func encoded(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// lendingDaemon is a daemon with a window of a second, and a second generator of UUIDs.
func lendingDaemon(t *testing.T) *testkit.Daemon {
	t.Helper()
	d := testkit.StartDaemon(t, executable(t, ""), []string{
		"SNOWFENCE_GENERATORS_DEFAULT_WINDOW=1s", "SNOWFENCE_GENERATORS_WIDE_LAYOUT=uuid8",
		"SNOWFENCE_GENERATORS_WIDE_NAMESPACE=wide", "SNOWFENCE_GENERATORS_WIDE_WINDOW=1s",
	}, "--data", t.TempDir())
	d.WaitReady()
	return d
}

// leases are the worker ids that the daemon's log shows as lent, or as given back.
func leases(d *testkit.Daemon, what string) []string {
	var all []string
	for _, m := range regexp.MustCompile(`audit: a worker id is `+what+`" generator=\w+ (worker=\d+) .*?(pid=\d+)`).FindAllStringSubmatch(d.Log(), -1) {
		all = append(all, m[1]+" "+m[2])
	}
	slices.Sort(all)
	return all
}

func wantGivenBack(t *testing.T, d *testkit.Daemon, want int) {
	t.Helper()
	lent, back := leases(d, "lent"), leases(d, "given back")
	if len(back) != want || !slices.Equal(lent, back) {
		t.Errorf("lent %q, given back %q, want %d", lent, back, want)
	}
}

func TestClientMintsOverMoreThanAWindowAndGivesTheWorkerIDBack(t *testing.T) {
	t.Parallel()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusConflict)
	}))
	defer proxy.Close()
	for _, name := range []string{"Python", "JavaScript", "Java"} {
		for _, generator := range []string{"default", "wide"} {
			t.Run(name+" "+generator, func(t *testing.T) {
				d := lendingDaemon(t)
				ids := printed(t, borrowers(t)[name], "talk", generator, "2500", "http://127.0.0.1:1", proxy.URL, d.URL)
				if len(ids) < 10000 {
					t.Fatalf("%d ids", len(ids))
				}
				for i := range ids[1:] { // their texts are of one length
					if ids[i] >= ids[i+1] {
						t.Fatalf("id %d: %s is followed by %s", i, ids[i], ids[i+1])
					}
				}
				wantGivenBack(t, d, 1)
			})
		}
	}
}

// TestJavaClientKeepsTheRulesOfTimesAndTries has the parts of the client that neither vectors nor daemons show: the times are
// rounded to the safe side, no request is repeated by the library, a refused token is named, and a hook may close.
func TestJavaClientKeepsTheRulesOfTimesAndTries(t *testing.T) {
	for _, rule := range []string{"late", "once", "refused", "hook"} {
		t.Run(rule, func(t *testing.T) {
			if got := printed(t, borrowers(t)["Java"], rule); !slices.Equal(got, []string{rule}) {
				t.Errorf("it printed %q", got)
			}
		})
	}
}

func TestThreadsOfAForkedChildOfPythonHaveOneLease(t *testing.T) {
	if got := printed(t, borrowers(t)["Python"], "twins"); !slices.Equal(got, []string{"twins"}) {
		t.Errorf("it printed %q", got)
	}
}

func TestForkedChildOfPythonMintsItsOwnIDsAndLeavesTheLeaseToItsParent(t *testing.T) {
	d := lendingDaemon(t)
	ids := printed(t, borrowers(t)["Python"], "fork", d.URL)
	if len(ids) != 4000 {
		t.Errorf("%d ids", len(ids))
	}
	slices.Sort(ids)
	if distinct := len(slices.Compact(ids)); distinct != 4000 {
		t.Errorf("%d distinct ids", distinct)
	}
	lent, back := leases(d, "lent"), leases(d, "given back")
	if len(lent) != 3 || len(back) != 2 { // a process of multiprocessing ends without exit hooks
		t.Errorf("lent %q, given back %q", lent, back)
	}
	for _, one := range back {
		if !slices.Contains(lent, one) {
			t.Errorf("%s is given back, lent are %q", one, lent)
		}
	}
}

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
	seen := once[string]{}
	seen.take(t, "the cluster", strings.Fields(output(t, command))...)
	if want := 7000; len(seen) != want {
		t.Errorf("%d ids, want %d", len(seen), want)
	}
}
