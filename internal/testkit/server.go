package testkit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Program describes how to run a kind of server.
type Program struct {
	Name    string   // the executable, looked for on the PATH and then in Places
	Places  []string // folders; they may be patterns
	Package string   // the Debian package that has it, for the error

	Ports   int                 // how many free ports of 127.0.0.1 it needs; 0 means 1
	User    string              // who it runs as when the test runs as root; empty means root
	Prepare func(*Server) error // fills the empty folder before the first start, if that is needed; see Server.Run

	Arguments func(*Server) []string
	Environ   []string       // added to the environment
	Ending    syscall.Signal // asks it to end; 0 means SIGTERM

	// Ready returns nil once the server answers. It is tried again until then, for [Hang].
	Ready func(context.Context, *Server) error
}

// Server is a real server in a folder and on ports of its own. Its methods are not
// safe for concurrent use, but for Log.
type Server struct {
	Ports []int  // its listening addresses; they stay the same when it starts again
	Dir   string // its folder; it stays, too

	t       testing.TB
	program Program
	path    string
	command *exec.Cmd
	ended   <-chan struct{} // closed when the process has ended
	log     *tail
}

// StartServer starts a server and waits until it is ready. It is killed at the end of
// the test, and its folder removed. On Linux it is killed even if the test's process is.
// A missing server fails the test with the package to install.
func StartServer(t testing.TB, p Program) *Server {
	t.Helper()
	path, err := find(p.Name, p.Places)
	if err != nil {
		t.Fatalf("%v: install it first; on Debian and its kin: apt-get install %s", err, p.Package)
	}
	s := &Server{Dir: folder(t, p.User), t: t, program: p, path: path, log: &tail{}}
	t.Cleanup(func() {
		s.signal(syscall.SIGCONT)
		s.Kill()
		if t.Failed() {
			t.Logf("the last lines of %s:\n%s", p.Name, s.Log())
		}
	})
	for range max(p.Ports, 1) {
		s.Ports = append(s.Ports, FreePort(t))
	}
	if p.Prepare != nil {
		if err := p.Prepare(s); err != nil {
			t.Fatalf("prepare %s: %v", p.Name, err)
		}
	}
	s.Start()
	return s
}

// Start starts the server again after Stop or Kill, on the same ports and
// folder, and waits until it is ready.
func (s *Server) Start() {
	s.t.Helper()
	if err := s.TryStart(); err != nil {
		s.t.Fatalf("%v\n%s", err, s.Log())
	}
}

// TryStart is Start that returns an error.
func (s *Server) TryStart() error {
	// It outlives the context of a subtest; the cleanup kills it.
	command, err := s.prepare(context.Background(), s.path, s.program.Arguments(s))
	if err != nil {
		return err
	}
	command.Stdout, command.Stderr = s.log, s.log
	s.command = command
	ended, err := run(command)
	if err != nil {
		return fmt.Errorf("start %s: %w", s.program.Name, err)
	}
	s.ended = ended
	err = retry(context.Background(), ended, func(ctx context.Context) error { return s.program.Ready(ctx, s) })
	switch {
	case err == nil:
		return nil
	case !s.running():
		return fmt.Errorf("%s ended before it was ready: %w", s.program.Name, err)
	}
	return fmt.Errorf("%s is not ready: %w", s.program.Name, err)
}

// Stop asks the server to end, and waits until it has.
func (s *Server) Stop() {
	s.t.Helper()
	ending := syscall.SIGTERM
	if s.program.Ending != 0 {
		ending = s.program.Ending
	}
	if s.running() {
		_ = s.command.Process.Signal(ending) // not its children
	}
	select {
	case <-s.ended:
	case <-time.After(Hang):
		s.t.Fatalf("%s does not end\n%s", s.program.Name, s.Log())
	}
}

// Kill ends the server and its children as a crash would, and waits until it
// has ended.
func (s *Server) Kill() {
	if s.running() {
		s.signal(syscall.SIGKILL)
		<-s.ended
	}
}

// Pause stops the server and its children in their tracks: connections stay,
// and nothing answers, until Resume. It returns when the server stands still.
func (s *Server) Pause() {
	s.t.Helper()
	s.signal(syscall.SIGSTOP)
	err := retry(context.Background(), nil, func(context.Context) error {
		if s.running() && !stopped(s.command.Process.Pid) {
			return errors.New("it runs")
		}
		return nil
	})
	if err != nil {
		s.t.Fatalf("%s does not stop", s.program.Name)
	}
}

// Resume continues the server after Pause.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

// Addr is the address of its first port.
func (s *Server) Addr() string { return s.Address(0) }

// Address is the address of a port.
func (s *Server) Address(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Ports[port]))
}

// Log returns the end of the server's standard streams.
func (s *Server) Log() string { return s.log.String() }

// Run runs a program that comes with the server, in its folder and as its user, and returns its output.
func (s *Server) Run(ctx context.Context, name string, arguments ...string) (string, error) {
	path, err := find(name, s.program.Places)
	if err != nil {
		return "", err
	}
	command, err := s.prepare(ctx, path, arguments)
	if err != nil {
		return "", err
	}
	out, err := command.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("run %s: %w: %s", name, err, out)
	}
	return string(out), nil
}

// Snapshot stops the server, copies a folder of Dir, and starts it again. Its result puts the folder
// back as it was, in the same way.
func (s *Server) Snapshot(folder string) (restore func(context.Context) error, err error) {
	folder = filepath.Join(s.Dir, folder)
	backup := filepath.Join(s.t.TempDir(), "backup")
	s.Stop()
	err = os.CopyFS(backup, os.DirFS(folder))
	restore = func(context.Context) error {
		s.Stop()
		err := errors.Join(os.RemoveAll(folder), os.CopyFS(folder, os.DirFS(backup)))
		return errors.Join(err, s.TryStart())
	}
	return restore, errors.Join(err, s.TryStart())
}

// run starts a command and returns a channel that is closed at its end. How it
// ended, its log shows.
//
// Linux kills the process when the thread that started it ends, see
// endsWithTest. So that thread is kept, and serves for nothing else, until the
// process has ended.
func run(command *exec.Cmd) (<-chan struct{}, error) {
	endsWithTest(command.SysProcAttr)
	started, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		started <- err
		if err == nil {
			_ = command.Wait()
			close(ended)
		}
	}()
	return ended, <-started
}

// prepare returns a command in the server's folder, in a process group of its own, as the
// server's user.
func (s *Server) prepare(ctx context.Context, path string, arguments []string) (*exec.Cmd, error) {
	command := exec.CommandContext(ctx, path, arguments...)
	command.Dir = s.Dir
	command.Env = append(command.Environ(), s.program.Environ...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	uid, gid, err := ids(s.program.User)
	if err == nil && uid >= 0 {
		command.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return command, err
}

// signal signals the server's process group, and its children, which may have
// left it.
func (s *Server) signal(number syscall.Signal) {
	if !s.running() {
		return
	}
	pid := s.command.Process.Pid
	// Stopped, it makes no more children while they are looked for.
	_ = syscall.Kill(-pid, syscall.SIGSTOP)
	for _, child := range children(pid) {
		_ = syscall.Kill(child, number)
	}
	_ = syscall.Kill(-pid, number)
}

// children returns the processes that a process's first thread started. Only
// Linux lists them.
func children(pid int) []int {
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil
	}
	var pids []int
	for field := range strings.FieldsSeq(string(list)) {
		if child, err := strconv.Atoi(field); err == nil {
			pids = append(pids, child)
		}
	}
	return pids
}

// running reports whether the process has not been waited for: only then is
// its id its own.
func (s *Server) running() bool {
	if s.ended == nil {
		return false
	}
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// folder makes an empty folder that belongs to the user.
func folder(t testing.TB, name string) string {
	t.Helper()
	// t.TempDir's parents are root's alone, and its names are long: a socket's
	// path must be shorter than 108 bytes.
	dir, err := os.MkdirTemp("", "snowfence-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove %s: %v", dir, err)
		}
	})
	uid, gid, err := ids(name)
	if err == nil && uid >= 0 {
		err = os.Chown(dir, uid, gid)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// ids returns the numbers of a user that root takes on, and of its group. They are -1
// where none is taken on.
func ids(name string) (uid, gid int, err error) {
	if name == "" || os.Getuid() != 0 {
		return -1, -1, nil
	}
	account, err := user.Lookup(name)
	if err != nil {
		return -1, -1, err
	}
	if uid, err = strconv.Atoi(account.Uid); err != nil {
		return -1, -1, err
	}
	gid, err = strconv.Atoi(account.Gid)
	return uid, gid, err
}

// find returns the path of a program. The environment may name another one: SNOWFENCE_TEST_PROGRAM_ and the name
// in capitals, as SNOWFENCE_TEST_PROGRAM_NATS_SERVER, holds the whole path of a program of another version.
func find(name string, places []string) (string, error) {
	capitals := strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	if other := os.Getenv("SNOWFENCE_TEST_PROGRAM_" + capitals); other != "" {
		name = other
	}
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	for _, place := range places {
		// A pattern that is not one matches nothing.
		matches, _ := filepath.Glob(filepath.Join(place, name))
		if len(matches) > 0 {
			return matches[len(matches)-1], nil
		}
	}
	return "", fmt.Errorf("%s is missing", name)
}

// tail keeps the end of the bytes written to it. It is safe for concurrent use.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailSize = 8 << 10

// Write keeps p, and forgets old bytes.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if len(t.text) > 2*tailSize {
		t.text = append(t.text[:0], t.text[len(t.text)-tailSize:]...)
	}
	return len(p), nil
}

// String returns the kept bytes.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text))
}

// Give copies a file into the server's folder, for its user alone, and returns its path there.
func (s *Server) Give(file, name string) string {
	s.t.Helper()
	path := filepath.Join(s.Dir, name)
	content, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	if uid, gid, failed := ids(s.program.User); err == nil && failed == nil && uid >= 0 {
		err = os.Chown(path, uid, gid)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return path
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
