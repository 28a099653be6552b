package wrap

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/builtin"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store/memstore"
)

// judging is a clock that looks whether the program is stopped while it is judged, and may be set back.
type judging struct {
	snowfence.Clock
	pid     atomic.Int64 // of the program; 0 before the test has read it
	back    atomic.Int64
	stopped chan struct{}
}

// After never expires: the wrapper looks at the clock when it has stepped, and not now and then.
func (*judging) After(time.Duration) (<-chan time.Time, func() bool) {
	return nil, func() bool { return true }
}

func (c *judging) Wall() time.Time {
	if pid := c.pid.Load(); pid > 0 {
		for end := c.Monotonic() + testkit.Hang; c.Monotonic() < end && !isStopped(pid); {
			expired, _ := c.Clock.After(time.Millisecond)
			<-expired
		}
		if isStopped(pid) && c.pid.CompareAndSwap(pid, 0) {
			c.stopped <- struct{}{}
		}
	}
	return c.Clock.Wall().Add(-time.Duration(c.back.Load()))
}

func isStopped(pid int64) bool {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return strings.Contains(string(stat), ") T ")
}

// claimed claims a worker id of a new namespace for a program.
func claimed(t *testing.T, clock snowfence.Clock, arguments ...string) (*lease, *roster.Roster) {
	t.Helper()
	s, err := memstore.Open(t.Context(), memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := fence.Open(t.Context(), fence.Config{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := roster.Open(t.Context(), roster.Config{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	lender, err := builtin.Lend(t.Context(), config.Generator{Namespace: r.Name(), Window: time.Hour}, s, clock, r.Record(), r.Layout())
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Lender: lender, Clock: clock, Random: rand.Reader, Note: t.Logf, Arguments: arguments, Environ: os.Environ()}
	l, err := c.claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l, r
}

func TestProgramIsStoppedWhileAStepOfTheClockIsJudged(t *testing.T) {
	clock := &judging{Clock: snowfence.SystemClock(), stopped: make(chan struct{}, 1)}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = read.Close() }()
	// It does not fork: a shell whose child is stopped between fork and exec is not seen as stopped itself.
	l, r := claimed(t, clock, "sh", "-c", `exec > "$0"; echo $$; exec yes`, pipe)
	steps, ended := make(chan struct{}), make(chan error)
	w := &wrapper{lease: l, path: "/bin/sh", steps: steps}
	go func() { ended <- w.run(t.Context()) }()
	lines, pid := bufio.NewScanner(read), int64(0)
	lines.Scan()
	if _, err := fmt.Sscan(lines.Text(), &pid); err != nil {
		t.Fatal(err)
	}
	clock.pid.Store(pid)
	steps <- struct{}{}
	<-clock.stopped
	testkit.Eventually(t, func(context.Context) error {
		if isStopped(pid) {
			return errors.New("the program does not go on")
		}
		return nil
	})
	clock.back.Store(int64(time.Hour))
	select {
	case steps <- struct{}{}:
		err = <-ended
	case err = <-ended: // the signal that the program goes on had it judged before
	}
	if err != nil || w.code != 137 {
		t.Errorf("%v, with exit code %d, want 137: the clock is below the floor", err, w.code)
	}
	if err := w.leave(); err != nil {
		t.Error(err)
	}
	if of, err := r.Worker(t.Context(), w.held.Answer().Lease.Worker); err != nil || of.Register.Holder == "" {
		t.Errorf("%+v, %v: must rest, since the clock has stepped", of, err)
	}
}

// ending is a clock that asks how far it is set back.
type ending struct {
	snowfence.Clock
	back func() time.Duration
}

func (c *ending) Wall() time.Time { return c.Clock.Wall().Add(-c.back()) }

func TestWorkerIDIsFreeAboveTheProgramsTicksThoughTheClockIsSetBackAtTheEnd(t *testing.T) {
	for _, seen := range []bool{true, false} {
		clock, steps := &ending{Clock: snowfence.SystemClock(), back: func() time.Duration { return 0 }}, make(chan struct{}, 1)
		l, r := claimed(t, clock, "true")
		w := &wrapper{lease: l, path: "/bin/true", steps: steps}
		clock.back = func() time.Duration {
			if !w.deserted {
				return 0
			}
			if seen && len(steps) == 0 {
				steps <- struct{}{}
			}
			return time.Hour
		}
		if err := w.run(t.Context()); err != nil || w.code != 0 {
			t.Fatal(err, w.code)
		}
		a := w.held.Answer()
		last := a.Layout.TickAt(clock.Clock.Wall())
		if err := w.leave(); err != nil {
			t.Fatal(err)
		}
		of, err := r.Worker(t.Context(), a.Lease.Worker)
		if rests := of.Register.Holder != ""; err != nil || rests != seen || of.Register.Until < last {
			t.Errorf("step seen: %t, after tick %d: %+v, %v", seen, last, of.Register, err)
		}
	}
}

func TestNoteDoesNotWaitForItsReader(t *testing.T) {
	t.Parallel()
	reader, read := make(chan struct{}), []string{}
	c, end := Config{Clock: &judging{}, Note: func(format string, args ...any) {
		<-reader
		read = append(read, fmt.Sprintf(format, args...))
	}}.unhurried()
	for i := range 100 {
		c.Note("note %d%%", i)
	}
	close(reader)
	end()
	if len(read) < 16 || read[0] != "note 0%" || read[15] != "note 15%" {
		t.Errorf("read %q, want at least the first 16", read)
	}
}

func TestFullManagerGetsItsMessageLater(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = manager.Close() }()
	t.Setenv("NOTIFY_SOCKET", socket)
	l, _ := claimed(t, snowfence.SystemClock())
	w, sent := &wrapper{lease: l, news: systemd.SdNotifyReady}, 0
	for err = w.notify("full"); err == nil; err = w.notify("full") {
		sent++
	}
	if !errors.Is(err, unix.EAGAIN) {
		t.Fatal(err)
	}
	w.tell()
	text := make([]byte, 100)
	for range sent {
		if _, err = manager.Read(text); err != nil {
			t.Fatal(err)
		}
	}
	w.tell()
	n, err := manager.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	if string(text[:n]) != systemd.SdNotifyReady || w.news != "" {
		t.Errorf("the last message is %q, and %q waits", text[:n], w.news)
	}
}
