package main

import (
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"snowfence.example/snowfence/internal/testkit"
)

// This file has the commands that the scripts of testdata/script use beside
// those of testscript.

// exits runs a command and compares its exit code: exits 2 snowfence bogus.
func exits(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 2 {
		ts.Fatalf("usage: exits CODE command [argument...]")
	}
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var ended *exec.ExitError
		if !errors.As(err, &ended) {
			ts.Fatalf("run: %v", err)
		}
		code = ended.ExitCode()
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// until runs a command again until its standard error matches a pattern: until 'gone' snowfence next.
func until(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN command [argument...]")
	}
	pattern, err := regexp.Compile(args[0])
	ts.Check(err)
	for began := time.Now(); ; {
		err := ts.Exec(args[1], args[2:]...)
		if pattern.MatchString(ts.ReadFile("stderr")) {
			return
		}
		if time.Since(began) > testkit.Hang {
			ts.Fatalf("no match for %q after %s: %v", args[0], testkit.Hang, err)
		}
	}
}

// fetch is a small curl: fetch METHOD URL.
func fetch(ts *testscript.TestScript, negated bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: fetch METHOD URL")
	}
	request, err := http.NewRequest(args[0], args[1], nil)
	ts.Check(err)
	response, err := http.DefaultClient.Do(request)
	ts.Check(err)
	_, err = io.Copy(ts.Stdout(), response.Body)
	ts.Check(err)
	ts.Check(response.Body.Close())
	if (response.StatusCode == http.StatusOK) == negated {
		ts.Fatalf("status %s", response.Status)
	}
}

// daemons are the running ones of a script, by name.
type daemons map[string]*testkit.Daemon

// daemonsKey is where a script keeps its daemons, and testKey where its test is.
type (
	daemonsKey struct{}
	testKey    struct{}
)

func daemonsOf(ts *testscript.TestScript) daemons { return ts.Value(daemonsKey{}).(daemons) }

// command is the program with the environment that daemons need.
func command(ts *testscript.TestScript, args ...string) *exec.Cmd {
	var env []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "XDG_STATE_HOME", "FROZEN", "GOCOVERDIR"} {
		if value := ts.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	bin, _, _ := strings.Cut(ts.Getenv("PATH"), string(filepath.ListSeparator))
	cmd := exec.Command(filepath.Join(bin, "snowfence"), args...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), env
	return cmd
}

// start runs a daemon until it reports that it is ready: start NAME arguments of
// serve. Its URL is then in the variable NAME, the address in NAME_address.
func start(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) == 0 {
		ts.Fatalf("usage: start NAME [argument of serve...]")
	}
	const port = "127.0.0.1:0"
	cmd := command(ts, append([]string{"serve", "--resp", port, "--grpc", port, "--thrift", port}, args[1:]...)...)
	d := testkit.Follow(ts.Value(testKey{}).(testing.TB), cmd)
	d.WaitReady()
	daemonsOf(ts)[args[0]] = d
	ts.Setenv(args[0], d.URL)
	ts.Setenv(args[0]+"_address", strings.TrimPrefix(d.URL, "http://"))
}

// halt ends a daemon by a signal and checks that it leaves in good order. Its output is in the file
// NAME.log.
func halt(ts *testscript.TestScript, negated bool, args []string) {
	signals := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL}
	if negated || len(args) != 2 || signals[args[1]] == 0 {
		ts.Fatalf("usage: halt NAME TERM|INT|KILL")
	}
	d := daemonsOf(ts)[args[0]]
	if d == nil {
		ts.Fatalf("%s is not running", args[0])
	}
	delete(daemonsOf(ts), args[0])
	d.Signal(signals[args[1]])
	code := d.WaitEnded()
	ts.Logf("%s", d.Log())
	if code != 0 && args[1] != "KILL" {
		ts.Fatalf("after SIG%s: exit code %d", args[1], code)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".log"), []byte(d.Log()+"\n"), 0o600))
}
