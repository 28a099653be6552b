package testkit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"snowfence.example/snowfence"
)

// Daemon is a running `snowfence serve`.
type Daemon struct {
	URL string // of its HTTP front; empty if it ended before it listened there

	t       testing.TB
	command *exec.Cmd
	again   func() *Daemon // nil of one that Follow started
	ready   chan struct{}  // closed when it serves
	ended   chan struct{}  // closed when it has ended

	mu        sync.Mutex
	lines     []string          // of its standard error
	addresses map[string]string // by the scheme of a front's URL
}

// anyPort is a free port of the loopback interface.
const anyPort = "127.0.0.1:0"

// StartDaemon starts binary's serve on a free port and waits until it listens or
// has ended, but not until it is ready. Processes still running at the end of the test are killed.
func StartDaemon(t testing.TB, binary string, environ []string, arguments ...string) *Daemon {
	t.Helper()
	command := exec.CommandContext(t.Context(), binary, append([]string{"serve", "--http", anyPort, "--resp", anyPort, "--grpc", anyPort, "--thrift", anyPort}, arguments...)...)
	command.Env = append(command.Environ(), environ...)
	d := Follow(t, command)
	d.again = func() *Daemon { return StartDaemon(t, binary, environ, arguments...) }
	return d
}

// Follow starts a command that is a daemon, and waits and kills as [StartDaemon] does.
func Follow(t testing.TB, command *exec.Cmd) *Daemon {
	t.Helper()
	d := &Daemon{t: t, command: command, ready: make(chan struct{}), ended: make(chan struct{}), addresses: map[string]string{}}
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
		_, url, ok := strings.Cut(line, "listening on ")
		if !ok { // gunicorn's words
			_, url, ok = strings.Cut(line, "Listening at: ")
			url, _, _ = strings.Cut(url, " ")
		}
		if ok && d.listens(url) {
			close(listening)
		}
		if strings.HasSuffix(line, "snowfence: ready") {
			close(d.ready)
		}
	}
	// The error shows how it ended, which the tests see by other means.
	_ = d.command.Wait()
	close(d.ended)
}

// listens notes the URL of a front, and reports whether it is the first. All are listened on
// before the first is logged.
func (d *Daemon) listens(url string) (first bool) {
	scheme, address, _ := strings.Cut(url, "://")
	if strings.HasPrefix(scheme, "http") && d.URL == "" {
		d.URL = url
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	first = len(d.addresses) == 0
	d.addresses[scheme] = address
	return first
}

// Address returns where the front of a scheme listens, such as redis or grpc. It fails the test
// when the daemon has none.
func (d *Daemon) Address(scheme string) string {
	d.t.Helper()
	var address string
	Eventually(d.t, func(context.Context) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		if address = d.addresses[scheme]; address == "" {
			return fmt.Errorf("the daemon does not report where it listens for %s", scheme)
		}
		return nil
	})
	return address
}

// WaitReady waits until the daemon serves, and fails the test if it ends or hangs.
func (d *Daemon) WaitReady() {
	d.t.Helper()
	select {
	case <-d.ready:
	case <-d.ended:
		d.t.Fatalf("daemon ended:\n%s", d.Log())
	case <-time.After(Hang):
		d.t.Fatalf("daemon not ready after %s:\n%s", Hang, d.Log())
	}
}

// WaitEnded waits until the process has ended and returns its exit code; it fails the test if the
// process hangs.
func (d *Daemon) WaitEnded() int {
	d.t.Helper()
	select {
	case <-d.ended:
	case <-time.After(Hang):
		d.t.Fatalf("daemon not ended after %s:\n%s", Hang, d.Log())
	}
	return d.command.ProcessState.ExitCode()
}

// Ended is closed when the process has ended.
func (d *Daemon) Ended() <-chan struct{} { return d.ended }

// PID is the process id.
func (d *Daemon) PID() int { return d.command.Process.Pid }

// Signal sends a signal. A process that has ended already gets none.
func (d *Daemon) Signal(s syscall.Signal) {
	_ = d.command.Process.Signal(s)
}

// Kill ends the process as a crash would and waits until it has ended.
func (d *Daemon) Kill() {
	d.Signal(syscall.SIGKILL)
	<-d.ended
}

// Again starts the daemon again after it has ended, with the same arguments, and waits until it is ready.
func (d *Daemon) Again() *Daemon {
	d.t.Helper()
	next := d.again()
	next.WaitReady()
	return next
}

// Log returns the daemon's standard error.
func (d *Daemon) Log() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.lines, "\n")
}

// Client returns an HTTP client that keeps one connection to a daemon.
func Client() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}, Timeout: 30 * time.Second}
}

// Mint asks a daemon's generator for n ids and appends the ids that arrive. When the daemon
// dies in the middle of its answer, the ids that came whole are issued, and appended too.
func Mint(ctx context.Context, client *http.Client, url, generator string, n int, ids []snowfence.ID) ([]snowfence.ID, error) {
	texts, err := MintTexts(ctx, client, url, generator, n)
	for _, text := range texts {
		id, wrong := snowfence.Parse(text)
		if wrong != nil {
			return ids, wrong
		}
		ids = append(ids, id)
	}
	return ids, err
}

// MintTexts is [Mint] for ids of any form.
func MintTexts(ctx context.Context, client *http.Client, url, generator string, n int) (texts []string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("%s/v1/generators/%s/ids?count=%d", url, generator, n), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "text/plain")
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		problem, err := io.ReadAll(io.LimitReader(response.Body, 4096))
		return nil, errors.Join(fmt.Errorf("status %s: %s", response.Status, problem), err)
	}
	lines := bufio.NewReader(response.Body)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return texts, nil
		}
		if err != nil {
			return texts, fmt.Errorf("read ids: %w", err)
		}
		texts = append(texts, string(line[:len(line)-1]))
	}
}
