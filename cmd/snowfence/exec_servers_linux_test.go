//go:build servers

package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
)

// onStore is a configuration with one worker id in an engine's store, whose namespace exists.
func onStore(t *testing.T, url string) (file string) {
	t.Helper()
	return begun(t, "store: "+url+"\ngenerators: {default: {workers: 5-5, window: 30s}}\n")
}

func TestProgramOnALossyStoreStartsWithAConfirmedBound(t *testing.T) {
	t.Parallel()
	const loss = 3 * time.Second
	file := onStore(t, testkit.StartEngine(t, "redis").URL("", loss))
	w := launch(t, nil, clockScript, "--config", file, "--window", "1m")
	started := w.stamp()
	// It was claimed at its floor or later.
	if of := held(t, file); len(of) != 1 || started.Before(of[0].Floor.Time.Add(loss)) {
		t.Errorf("started at %s: %+v", started, of)
	}
	w.signal(syscall.SIGUSR1) // the shell does not know it
	w.stamps()
	w.exits(128 + int(syscall.SIGUSR1))
}

func TestProgramIsDeadBeforeItsBoundIfTheStoreIsAway(t *testing.T) {
	t.Parallel()
	engine := testkit.StartEngine(t, "etcd")
	file := onStore(t, engine.URL("", 0))
	w := launch(t, nil, clockScript, "--config", file, "--window", "30s")
	w.line()
	engine.Server.Kill()
	last, others := w.stamps()
	w.exits(137)
	engine.Server.Start()
	if of := listed(t, file); len(of) != 1 || !last.Before(of[0].Until.Time) || len(others) != 1 {
		t.Errorf("the program lived at %s, and printed %q: %+v\n%s", last, others, of, w.stderr.String())
	}
}

// TestWrapperIsProcessOneOfItsContainer makes a PID namespace: where that is not allowed, unshare reports it.
func TestWrapperIsProcessOneOfItsContainer(t *testing.T) {
	t.Parallel()
	file := space(t, 5, 5, "1m")
	const script = `trap 'echo asked; exit 9' TERM; (setsid sh -c 'trap "echo orphan; exit" TERM; echo ready; while :; do sleep 0.02; done' &)
		echo "$PPID"; kill -TERM 1; while :; do sleep 0.02; done`
	by := []string{"unshare", "-r", "-p", "-f", "--mount-proc", "--kill-child", executable(t, "faultclock")}
	w := launchBy(t, by, nil, script, "--config", file)
	said := []string{w.line(), w.line(), w.line()}
	for _, want := range []string{"1", "asked", "ready"} {
		if !strings.Contains(strings.Join(said, " ")+" ", want+" ") {
			t.Fatalf("printed %q, not %s: %s", said, want, w.stderr.String())
		}
	}
	if of := held(t, file); len(of) != 1 {
		t.Errorf("an orphan lives, and held are %+v", of)
	}
	children, err := os.ReadFile("/proc/" + strconv.Itoa(w.cmd.Process.Pid) + "/task/" + strconv.Itoa(w.cmd.Process.Pid) + "/children")
	if err != nil {
		t.Fatal(err)
	}
	first, err := strconv.Atoi(strings.TrimSpace(string(children)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(first, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := w.line(); got != "orphan" {
		t.Errorf("printed %q, want orphan", got)
	}
	w.exits(9)
	if of := held(t, file); len(of) != 0 {
		t.Errorf("nothing lives, and held are %+v", of)
	}
}

// TestExecWithoutAProcOfItsOwnDoesNotStart makes a PID namespace whose /proc is the one outside.
func TestExecWithoutAProcOfItsOwnDoesNotStart(t *testing.T) {
	t.Parallel()
	file := space(t, 5, 5, "1m")
	w := launchBy(t, []string{"unshare", "-r", "-p", "-f", "--kill-child", executable(t, "faultclock")}, nil, "echo ran", "--config", file)
	if got := w.line(); got != "" {
		t.Errorf("printed %q", got)
	}
	w.exits(exitUsage)
	if of := held(t, file); len(of) != 0 || !strings.Contains(w.stderr.String(), "mount /proc") {
		t.Errorf("held are %+v, and exec printed %s", of, w.stderr.String())
	}
}
