package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"snowfence.example/snowfence/daemon"
	"snowfence.example/snowfence/internal/testkit"
)

// serviceManager plays the service manager's part.
type serviceManager struct {
	t        *testing.T
	address  string
	messages *net.UnixConn
}

func newManager(t *testing.T) *serviceManager {
	t.Helper()
	address := filepath.Join(t.TempDir(), "notify")
	messages, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = messages.Close() })
	return &serviceManager{t, address, messages}
}

// start starts a daemon, with sockets by their names.
func (s *serviceManager) start(environ []string, sockets map[string]*net.TCPListener, arguments ...string) *testkit.Daemon {
	s.t.Helper()
	const port = "127.0.0.1:0"
	run := []string{"-c", `LISTEN_PID=$$ exec "$@"`, "sh", executable(s.t, ""), "serve", "--http", port, "--resp", port, "--grpc", port, "--thrift", port}
	cmd := exec.CommandContext(s.t.Context(), "sh", append(run, arguments...)...)
	cmd.Env = append(append(os.Environ(), "NOTIFY_SOCKET="+s.address), environ...)
	var names []string
	for name, socket := range sockets {
		file, err := socket.File()
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { _ = file.Close() })
		names, cmd.ExtraFiles = append(names, name), append(cmd.ExtraFiles, file)
	}
	cmd.Env = append(cmd.Env, fmt.Sprint("LISTEN_FDS=", len(names)), "LISTEN_FDNAMES="+strings.Join(names, ":"))
	return testkit.Follow(s.t, cmd)
}

// next returns the next message, or an empty text if none comes for so long.
func (s *serviceManager) next(limit time.Duration) string {
	s.t.Helper()
	if err := s.messages.SetReadDeadline(time.Now().Add(limit)); err != nil {
		s.t.Fatal(err)
	}
	b := make([]byte, 4096)
	n, err := s.messages.Read(b)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		s.t.Fatal(err)
	}
	return string(b[:n])
}

// await returns the first message that has a line with this beginning. None before it may have one with the other beginning.
func (s *serviceManager) await(d *testkit.Daemon, begin, without string) string {
	s.t.Helper()
	for {
		switch message := "\n" + s.next(testkit.Hang); {
		case message == "\n":
			s.t.Fatalf("no message has %q:\n%s", begin, d.Log())
		case strings.Contains(message, "\n"+begin):
			return message
		case without != "" && strings.Contains(message, "\n"+without):
			s.t.Fatalf("%q comes before %q", message, begin)
		}
	}
}

// TestServiceManagerFollowsTheDaemon has a daemon wait for a worker id, give ids, stand still and end.
func TestServiceManagerFollowsTheDaemon(t *testing.T) {
	t.Parallel()
	const watchdog = time.Second
	folder := t.TempDir()
	file := written(t, "data: "+folder+"\ngenerators: {orders: {worker: 3, claim-wait: 10ms}}\nlimits: {linger: 1m}\n")
	holder := readyDaemon(t, "--data", folder, "--config", written(t, "generators: {orders: {worker: 3}}\n"))
	s := newManager(t)
	d := s.start([]string{fmt.Sprintf("WATCHDOG_USEC=%d", watchdog.Microseconds())}, nil, "--config", file)
	if m := s.await(d, "STATUS=gives ids of 0 of 1 generator; orders: ", "READY=1"); !strings.Contains(m, "\nEXTEND_TIMEOUT_USEC=1500000") {
		t.Errorf("while it waits: %q", m)
	}
	if m := s.await(d, "STATUS=gives ids of 0 of 1 generator; orders: snowfence: no worker id is free: worker 3: held by ", "READY=1"); strings.Count(m, "\n") > 3 {
		t.Errorf("while it waits: %q", m)
	}
	ended(t, holder)
	if m := s.await(d, "READY=1", ""); !strings.Contains(m, "\nSTATUS=gives ids of 1 of 1 generator") || !strings.Contains(m, "\nWATCHDOG=1") {
		t.Errorf("once it gives ids: %q", m)
	}
	s.await(d, "WATCHDOG=1", "READY=1")

	freeze(t, d)
	for n := 0; s.next(2*watchdog) != ""; n++ {
		if n == 100 {
			t.Fatal("a daemon that is stopped sends on")
		}
	}
	d.Signal(syscall.SIGCONT)
	s.await(d, "WATCHDOG=1", "")
	d.Signal(syscall.SIGTERM)
	if m := s.await(d, "STOPPING=1", ""); !strings.Contains(m, "\nEXTEND_TIMEOUT_USEC=80000000") {
		t.Errorf("at the end: %q", m)
	}
	for range 3 {
		s.await(d, "WATCHDOG=1", "STATUS=") // while it lingers
	}
}

// TestFrontsUseTheSocketsOfTheServiceManager has two fronts on its sockets, which clients reach before the daemon is there, and
// after it has ended.
func TestFrontsUseTheSocketsOfTheServiceManager(t *testing.T) {
	t.Parallel()
	sockets := map[string]*net.TCPListener{}
	for _, name := range []string{"http", "health"} {
		l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		sockets[name] = l
	}
	s, folder := newManager(t), t.TempDir()
	get := func(front, path string) (int, error) {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		answer, err := askBy(t.Context(), client, http.MethodGet, "http://"+sockets[front].Addr().String()+path)
		return answer.status, err
	}
	for range 2 {
		early := make(chan error)
		go func() {
			_, err := get("http", "/livez")
			early <- err
		}()
		d := s.start(nil, sockets, "--data", folder)
		if err := <-early; err != nil {
			t.Errorf("a client that came before the daemon: %v", err)
		}
		d.WaitReady()
		for path, want := range map[[2]string]int{
			{"http", "/v1/generators/default/ids"}: 200, {"health", "/activez"}: 200, {"health", "/v1/generators/default/ids"}: 404,
		} {
			if got, err := get(path[0], path[1]); got != want || err != nil {
				t.Errorf("%s: %d, %v, want %d", path, got, err, want)
			}
		}
		ended(t, d)
	}

	sockets["web"] = sockets["health"]
	if d := s.start(nil, sockets, "--data", folder); d.WaitEnded() != exitUsage || !strings.Contains(d.Log(), "no front uses the sockets named web") {
		t.Errorf("with a socket without a front:\n%s", d.Log())
	}
}

// TestConfigurationOfTheUnitCanBeUsed takes the example beside the unit.
func TestConfigurationOfTheUnitCanBeUsed(t *testing.T) {
	t.Parallel()
	c, err := daemon.Load(daemon.Sources{File: "../../deploy/systemd/snowfence.yaml"})
	if err != nil || c.Data != "/var/lib/snowfence" {
		t.Errorf("data is %q: %v", c.Data, err)
	}
}
