package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/token"
	"snowfence.example/snowfence/internal/testkit"
)

// wrapped is a running `snowfence exec` whose program is a shell script.
type wrapped struct {
	t      *testing.T
	cmd    *exec.Cmd
	out    *bufio.Reader // of the program and of all that it starts
	stderr bytes.Buffer
	ended  chan struct{}
}

// space is a configuration whose only generator has the worker ids first to last, with a window.
func space(t *testing.T, first, last int, window string) (file string) {
	t.Helper()
	return begun(t, fmt.Sprintf("data: %s\nlayout: twitter\ngenerators: {orders: {workers: %d-%d, window: %s, lend-share: 100}}\n", t.TempDir(), first, last, window))
}

// begun writes a configuration, and makes its namespace.
func begun(t *testing.T, config string) (file string) {
	t.Helper()
	file = written(t, config)
	snowfenceOf(t, "next", "--config", file)
	return file
}

// snowfenceOf runs a verb whose clock can be set, and returns its output.
func snowfenceOf(t *testing.T, arguments ...string) string {
	t.Helper()
	return output(t, exec.CommandContext(t.Context(), executable(t, "faultclock"), arguments...))
}

// launch starts a script under exec. The flags stand before it.
func launch(t *testing.T, environ []string, script string, flags ...string) *wrapped {
	t.Helper()
	return launchBy(t, []string{executable(t, "faultclock")}, environ, script, flags...)
}

func launchBy(t *testing.T, by, environ []string, script string, flags ...string) *wrapped {
	t.Helper()
	arguments := append(by, append(append([]string{"exec"}, flags...), "--", "sh", "-c", script, "sh", "{datacenter}/{worker}")...)
	w := &wrapped{t: t, cmd: exec.CommandContext(t.Context(), arguments[0], arguments[1:]...), ended: make(chan struct{})}
	w.cmd.Env, w.cmd.Stderr = append(os.Environ(), environ...), &w.stderr
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	w.cmd.Stdout, w.out = write, bufio.NewReader(read)
	if err := errors.Join(w.cmd.Start(), write.Close()); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = w.cmd.Wait() // the tests read its state
		close(w.ended)
	}()
	t.Cleanup(func() {
		_ = w.cmd.Process.Kill()
		<-w.ended
		_ = read.Close()
	})
	return w
}

// signal sends a signal to exec.
func (w *wrapped) signal(s syscall.Signal) {
	w.t.Helper()
	if err := w.cmd.Process.Signal(s); err != nil {
		w.t.Fatal(err)
	}
}

// line is the next line of the program, and empty when none of its processes is left to write one.
func (w *wrapped) line() string {
	w.t.Helper()
	text, err := w.out.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		w.t.Fatal(err)
	}
	return strings.TrimSuffix(text, "\n")
}

// stamp is the next line, which is a time in nanoseconds.
func (w *wrapped) stamp() time.Time {
	w.t.Helper()
	n, err := strconv.ParseInt(w.line(), 10, 64)
	if err != nil {
		w.t.Fatalf("%v: %s", err, w.stderr.String())
	}
	return time.Unix(0, n)
}

// stamps reads times in nanoseconds to the end, and returns the last one. Other lines are returned, too.
func (w *wrapped) stamps() (last time.Time, others []string) {
	w.t.Helper()
	for text := w.line(); text != ""; text = w.line() {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			last = time.Unix(0, n)
		} else {
			others = append(others, text)
		}
	}
	return last, others
}

// exits waits for the end and compares the exit code.
func (w *wrapped) exits(code int) {
	w.t.Helper()
	<-w.ended
	if got := w.cmd.ProcessState.ExitCode(); got != code {
		w.t.Errorf("exit code %d, want %d\n%s", got, code, w.stderr.String())
	}
}

// register is a worker id as workers list shows it.
type register struct {
	Worker       int64
	State        string
	Version      string
	Floor, Until struct{ Time time.Time }
}

func listed(t *testing.T, file string) (all []register) {
	t.Helper()
	for line := range strings.Lines(snowfenceOf(t, "workers", "list", "--config", file, "-o", "json")) {
		var r struct {
			Type string
			register
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if r.Type == "worker" {
			all = append(all, r.register)
		}
	}
	return all
}

// held returns the registers with a holder.
func held(t *testing.T, file string) []register {
	t.Helper()
	return slices.DeleteFunc(listed(t, file), func(r register) bool { return r.State != "held" })
}

// lentUntil is the bound of the worker id that is lent to a version.
func lentUntil(t *testing.T, file, version string) time.Time {
	t.Helper()
	all := listed(t, file)
	i := slices.IndexFunc(all, func(r register) bool { return r.Version == version })
	if i < 0 {
		t.Fatalf("nothing is %s: %+v", version, all)
	}
	return all[i].Until.Time
}

// clockScript prints the time again and again, and once that it was asked to end.
const clockScript = "trap 'echo asked' TERM; while :; do date +%s%N; sleep 0.01; done"

func TestProgramsExitCodeIsExecs(t *testing.T) {
	t.Parallel()
	file := space(t, 0, 7, "1m")
	for script, code := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -TERM $$": 143, "kill -KILL $$": 137, "kill -PIPE $$; exit 0": 141} {
		launch(t, nil, script, "--config", file).exits(code)
	}
	if of := held(t, file); len(of) > 0 {
		t.Errorf("held by programs that have ended: %+v", of)
	}
}

func TestExecWithoutProgramOrNamespaceClaimsNothing(t *testing.T) {
	t.Parallel()
	binary, file, empty := executable(t, "faultclock"), space(t, 0, 7, "1m"), t.TempDir()
	for says, arguments := range map[string][]string{
		"executable file not found":          {"exec", "--config", file, "--", "no-such-program"},
		"needs a program to run":             {"exec", "--config", file},
		"'snowfence next' with the same":     {"exec", "--data", empty, "--", "true"},
		"--daemon and --store exclude":       {"exec", "--daemon", "http://127.0.0.1:1", "--store", "mem://", "--", "true"},
		"is of this process alone":           {"exec", "--store", "mem://", "--", "true"},
		"must be at least six times as long": {"exec", "--config", file, "--ahead", "1m", "--", "true"},
	} {
		out, err := exec.CommandContext(t.Context(), binary, arguments...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), says) {
			t.Errorf("%v: %v, printed %q, want %q", arguments, err, out, says)
		}
	}
	if of := held(t, file); len(of) > 0 {
		t.Errorf("held without a program: %+v", of)
	}
	if found, err := os.ReadDir(empty); err != nil || len(found) > 0 {
		t.Errorf("made %v: %v", found, err)
	}
}

func TestSignalsReachTheProgramAlone(t *testing.T) {
	t.Parallel()
	const names = "TERM INT HUP QUIT USR1 USR2 WINCH CONT TSTP"
	w := launch(t, nil, "for s in "+names+"; do trap \"echo $s\" $s; done; echo ready; while :; do sleep 0.02; done", "--config", space(t, 0, 7, "1m"))
	if got := w.line(); got != "ready" {
		t.Fatalf("%q: %s", got, w.stderr.String())
	}
	for i, s := range []syscall.Signal{
		syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGCONT, syscall.SIGTSTP,
	} {
		w.signal(s)
		if got, want := w.line(), strings.Fields(names)[i]; got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}

func TestProgramKnowsItsWorkerID(t *testing.T) {
	t.Parallel()
	file := space(t, 37, 37, "1m")
	w := launch(t, []string{"NOTIFY_SOCKET=/nowhere", "SNOWFENCE_WORKER_ID=7"}, `echo $1 $SNOWFENCE_DATACENTER_ID/$SNOWFENCE_WORKER_ID $SNOWFENCE_EPOCH_MS $SNOWFENCE_LAYOUT $NOTIFY_SOCKET; exec sleep 1000`, "--config", file)
	preset, err := snowfence.PresetByName("twitter")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("1/5 1/5 %d %s", preset.Layout.Epoch.UnixMilli(), preset.Layout)
	if got := w.line(); got != want {
		t.Errorf("the program printed %q, want %q\n%s", got, want, w.stderr.String())
	}
	if of := held(t, file); len(of) != 1 || of[0].Worker != 37 || of[0].Version != "lent sh" {
		t.Errorf("held are %+v", of)
	}
}

func TestNoTwoProgramsHaveOneWorkerID(t *testing.T) {
	t.Parallel()
	file := space(t, 0, 1, "1m")
	first, second := launch(t, nil, "echo $1; exec sleep 1000", "--config", file), launch(t, nil, "echo $1; exec sleep 1000", "--config", file)
	a, b := first.line(), second.line()
	third := launch(t, nil, "echo $1", "--config", file)
	if a == b || a == "" || b == "" {
		t.Fatalf("they have %q and %q\n%s\n%s", a, b, first.stderr.String(), second.stderr.String())
	}
	first.signal(syscall.SIGTERM)
	first.exits(143)
	if c := third.line(); c != a {
		t.Errorf("the third has %q, and %q is free\n%s", c, a, third.stderr.String())
	}
	third.exits(0)
}

func TestProgramIsDeadBeforeItsBoundIfTheDaemonIsAway(t *testing.T) {
	t.Parallel()
	file := space(t, 0, 7, "30s")
	secret, grants := filepath.Join(t.TempDir(), "token"), filepath.Join(t.TempDir(), "grants")
	text, grant, err := token.New(rand.Reader, "billing", nil, 0, 1)
	if err := errors.Join(err, os.WriteFile(secret, []byte(text+"\n"), 0o600), os.WriteFile(grants, []byte(grant.String()+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	d := testkit.StartDaemon(t, executable(t, "faultclock"), []string{"SNOWFENCE_TOKEN_FILE=" + grants}, "--config", file, "--thrift", "")
	d.WaitReady()
	launch(t, nil, "echo ran", "--daemon", d.URL, "-g", "orders").exits(exitFailure)
	w := launch(t, nil, clockScript, "--daemon", d.URL, "-g", "orders", "--token-file", secret)
	w.line()
	d.Kill()
	last, others := w.stamps()
	w.exits(137)
	until := lentUntil(t, file, "lent sh (token billing)")
	if !last.Before(until) || len(others) != 1 || others[0] != "asked" {
		t.Errorf("the program lived at %s, with a bound of %s, and printed %q\n%s", last, until, others, w.stderr.String())
	}
}

func TestProgramIsDeadBeforeItsBoundThoughStandardErrorIsFull(t *testing.T) {
	t.Parallel()
	file, full := space(t, 0, 7, "30s"), filepath.Join(t.TempDir(), "full")
	if err := syscall.Mkfifo(full, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := syscall.Open(full, syscall.O_RDWR|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(pipe) })
	for err == nil {
		_, err = syscall.Write(pipe, []byte{'.'})
	}
	d := testkit.StartDaemon(t, executable(t, "faultclock"), nil, "--config", file, "--thrift", "")
	d.WaitReady()
	by := []string{"sh", "-c", `exec "$@" 2> "$FULL"`, "sh", executable(t, "faultclock")}
	w := launchBy(t, by, []string{"FULL=" + full}, clockScript, "--daemon", d.URL, "-g", "orders")
	w.line()
	d.Kill()
	until := lentUntil(t, file, "lent sh")
	if last, others := w.stamps(); !last.Before(until) || !slices.Contains(others, "asked") {
		t.Errorf("the program lived at %s, with a bound of %s, and printed %q", last, until, others)
	}
	w.exits(137)
}

func TestProgramIsAskedToEndWhenItsLeaseIsGone(t *testing.T) {
	t.Parallel()
	file := space(t, 5, 5, "1m")
	w := launch(t, nil, "trap 'echo asked; exit 0' TERM; echo ready; while :; do sleep 0.02; done", "--config", file, "--window", "12s")
	w.line()
	testkit.Eventually(t, func(ctx context.Context) error { // an extension may come between its read and its write
		release := exec.CommandContext(ctx, executable(t, "faultclock"), "workers", "release", "5", "--yes", "--config", file)
		if out, err := release.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	if got := w.line(); got != "asked" {
		t.Errorf("printed %q, want asked", got)
	}
	w.exits(exitUnsafe)
	if !strings.Contains(w.stderr.String(), "the lease is gone") {
		t.Errorf("printed %s", w.stderr.String())
	}
}

func TestProgramDiesWithItsKilledWrapper(t *testing.T) {
	t.Parallel()
	w := launch(t, nil, "echo $$; exec sleep 1000", "--config", space(t, 0, 7, "1m"))
	w.line()
	w.signal(syscall.SIGKILL)
	if got := w.line(); got != "" { // its end of the pipe is closed
		t.Errorf("it printed %q", got)
	}
}

func TestWorkerIDIsTheProgramsUntilNoProcessOfItIsLeft(t *testing.T) {
	t.Parallel()
	file := space(t, 0, 7, "1m")
	w := launch(t, nil, `setsid sh -c 'echo $$; exec sleep 1000' & exit 3`, "--config", file)
	pid, err := strconv.Atoi(w.line())
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, func(context.Context) error { // it is the wrapper's child once the shell has ended
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err == nil && !strings.Contains(string(status), fmt.Sprintf("PPid:\t%d\n", w.cmd.Process.Pid)) {
			err = errors.New("it is not the wrapper's child")
		}
		return err
	})
	if of := held(t, file); len(of) != 1 {
		t.Errorf("held are %+v", of)
	}
	w.signal(syscall.SIGTERM) // to the process that is left
	w.exits(3)
	if of := held(t, file); len(of) != 0 {
		t.Errorf("held are %+v", of)
	}
}

func TestProgramStartsAtItsFloorAndDiesBelowIt(t *testing.T) {
	t.Parallel()
	file, offset := space(t, 5, 5, "1m"), filepath.Join(t.TempDir(), "offset")
	environ := []string{"SNOWFENCE_CLOCK_OFFSET_FILE=" + offset}
	write(t, offset, "4s")
	launch(t, environ, "exit 0", "--config", file).exits(0)
	write(t, offset, "0s")
	w := launch(t, environ, clockScript, "--config", file)
	started := w.stamp()
	if of := held(t, file); len(of) != 1 || started.Before(of[0].Floor.Time) {
		t.Errorf("started at %s: %+v", started, of)
	}
	write(t, offset, "-1h")
	w.stamps()
	w.exits(137)
}

// TestStoppedWrapperLosesThePromise is the limit that the documents name: the program goes on past its bound.
func TestStoppedWrapperLosesThePromise(t *testing.T) {
	t.Parallel()
	file := space(t, 5, 5, "4s")
	first := launch(t, nil, clockScript, "--config", file, "--window", "4s")
	first.line()
	first.signal(syscall.SIGSTOP)
	second := launch(t, nil, "date +%s%N", "--config", file, "--window", "1m")
	began := second.stamp()
	for !first.stamp().After(began) { // until the first has written after the second
	}
	first.signal(syscall.SIGCONT)
	first.stamps()
	first.exits(137)
}

// TestWatchdogEndsTheProgramOfAStoppedWrapperBeforeItsBound plays the service manager's part.
func TestWatchdogEndsTheProgramOfAStoppedWrapperBeforeItsBound(t *testing.T) {
	t.Parallel()
	const watchdog = 9 * time.Second
	file, manager := space(t, 5, 5, "1m"), newManager(t)
	w := launch(t, []string{"NOTIFY_SOCKET=" + manager.address, fmt.Sprintf("WATCHDOG_USEC=%d", watchdog.Microseconds())}, clockScript, "--config", file, "--window", "24s")
	for _, want := range []string{"READY=1", "WATCHDOG=1"} {
		if got := manager.next(testkit.Hang); got != want {
			t.Fatalf("the message to the manager is %q: %s", got, w.stderr.String())
		}
	}
	w.signal(syscall.SIGSTOP)
	for manager.next(watchdog) != "" {
	}
	w.signal(syscall.SIGKILL)
	last, _ := w.stamps()
	if of := listed(t, file); len(of) != 1 || !last.Before(of[0].Until.Time) {
		t.Errorf("the program lived at %s: %+v", last, of)
	}
}
