package testkit

import (
	"bufio"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Daemon is a running `snowfence serve`.
type Daemon struct {
	URL string // of its HTTP front; empty if it ended before it listened

	t       testing.TB
	command *exec.Cmd
	ready   chan struct{} // closed when it serves
	ended   chan struct{} // closed when it has ended

	mu    sync.Mutex
	lines []string // of its standard error
}

// StartDaemon starts binary's serve on a free port and waits until it listens or
// has ended, but not until it is ready. What is still running at the end of the
// test is killed.
func StartDaemon(t testing.TB, binary string, environ []string, arguments ...string) *Daemon {
	t.Helper()
	d := &Daemon{t: t, ready: make(chan struct{}), ended: make(chan struct{})}
	d.command = exec.CommandContext(t.Context(), binary, append([]string{"serve", "--http", "127.0.0.1:0"}, arguments...)...)
	d.command.Env = append(d.command.Environ(), environ...)
	stderr, err := d.command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.command.Start(); err != nil {
		t.Fatal(err)
	}
	listening := make(chan struct{})
	go d.read(stderr, listening)
	t.Cleanup(func() { d.Signal(syscall.SIGCONT); d.Kill() })
	select {
	case <-listening:
	case <-d.ended:
	}
	return d
}

// read follows standard error to its end, which is the process's.
func (d *Daemon) read(stderr io.Reader, listening chan struct{}) {
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		line := lines.Text()
		d.mu.Lock()
		d.lines = append(d.lines, line)
		d.mu.Unlock()
		if _, url, ok := strings.Cut(line, "listening on "); ok && d.URL == "" {
			d.URL = url
			close(listening)
		}
		if strings.HasSuffix(line, "snowfence: ready") {
			close(d.ready)
		}
	}
	// The error says how it ended, which the tests see by other means.
	_ = d.command.Wait()
	close(d.ended)
}

// WaitReady waits until the daemon serves, and fails the test if it ends or
// does not serve within the limit.
func (d *Daemon) WaitReady(limit time.Duration) {
	d.t.Helper()
	select {
	case <-d.ready:
	case <-d.ended:
		d.t.Fatalf("daemon ended:\n%s", d.Log())
	case <-time.After(limit):
		d.t.Fatalf("daemon not ready after %s:\n%s", limit, d.Log())
	}
}

// WaitEnded waits until the process has ended and returns its exit code; it
// fails the test if that takes longer than the limit.
func (d *Daemon) WaitEnded(limit time.Duration) int {
	d.t.Helper()
	select {
	case <-d.ended:
	case <-time.After(limit):
		d.t.Fatalf("daemon not ended after %s:\n%s", limit, d.Log())
	}
	return d.command.ProcessState.ExitCode()
}

// Ended is closed when the process has ended.
func (d *Daemon) Ended() <-chan struct{} { return d.ended }

// Signal sends a signal. A process that has ended already gets none.
func (d *Daemon) Signal(s syscall.Signal) {
	_ = d.command.Process.Signal(s)
}

// Kill ends the process as a crash would and waits until it has ended.
func (d *Daemon) Kill() {
	d.Signal(syscall.SIGKILL)
	<-d.ended
}

// Log returns what the daemon wrote to standard error.
func (d *Daemon) Log() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.lines, "\n")
}

// Client returns an HTTP client that keeps one connection to a daemon.
func Client() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}, Timeout: 30 * time.Second}
}
