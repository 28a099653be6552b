package wrap

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"snowfence.example/snowfence"
)

// tree sends a signal to the program and to all processes below this one, also to those that are forked meanwhile.
func (w *wrapper) tree(s syscall.Signal) {
	var done []int
	for rest := []int{w.pid}; len(rest) > 0; { // at first the program: on a busy host it takes a while to find the others
		for _, pid := range rest {
			if pid > 0 {
				_ = syscall.Kill(pid, s)
			}
		}
		done = append(done, rest...)
		below, _ := descendants() // it worked at the start
		rest = slices.DeleteFunc(below, func(pid int) bool { return slices.Contains(done, pid) })
	}
}

// descendants returns the processes below this one. An error is returned without /proc, or with the /proc of another PID
// namespace, which names other processes.
func descendants() (all []int, err error) {
	self := os.Getpid()
	if named, err := os.Readlink("/proc/self"); err != nil || named != strconv.Itoa(self) {
		return nil, snowfence.NewError(snowfence.ClassUsage, "exec can't find the processes that a program starts, so it could not end them: mount /proc of this PID namespace, as unshare --mount-proc and bwrap --proc /proc do")
	}
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	children := map[int][]int{}
	for _, path := range paths {
		var state string
		var parent int
		stat, _ := os.ReadFile(path) // it may have ended
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if _, err := fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &parent); err == nil {
			children[parent] = append(children[parent], pid)
		}
	}
	all = slices.Clone(children[self])
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all, nil
}

// clockSteps returns a channel that gets a value when the wall clock was set. The timer is far away, and a step cancels it.
func clockSteps() (steps <-chan struct{}, end func() error, err error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, nil, err
	}
	timer := os.NewFile(uintptr(fd), "timerfd")
	far := unix.ItimerSpec{Value: unix.Timespec{Sec: math.MaxInt32}}
	if err := unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, &far, nil); err != nil {
		return nil, nil, errors.Join(err, timer.Close())
	}
	seen := make(chan struct{}, 1)
	go func() {
		for {
			if _, err := timer.Read(make([]byte, 8)); err != nil && !errors.Is(err, unix.ECANCELED) {
				return // closed
			}
			select {
			case seen <- struct{}{}:
			default:
			}
		}
	}()
	return seen, timer.Close, nil
}

// others returns the environment without the variables of the wrapper.
func others(environ []string) []string {
	own := []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "SNOWFENCE_WORKER_ID", "SNOWFENCE_DATACENTER_ID", "SNOWFENCE_LAYOUT", "SNOWFENCE_EPOCH_MS"}
	return slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(own, name)
	})
}

// unhurried returns the config with a Note that never waits: the goroutine that kills the program must not wait for a reader
// of standard error. A note is lost when many others wait. The end waits for the notes before it, but not for long.
func (c Config) unhurried() (_ Config, end func()) {
	write, notes, done := c.Note, make(chan string, 16), make(chan struct{})
	go func() {
		defer close(done)
		for text := range notes {
			if text == "" {
				return
			}
			write("%s", text)
		}
	}()
	c.Note = func(format string, args ...any) {
		select {
		case notes <- fmt.Sprintf(format, args...):
		default:
		}
	}
	return c, func() {
		expired, stop := c.Clock.After(time.Second)
		defer stop()
		select {
		case notes <- "":
		case <-expired:
			return
		}
		select {
		case <-done:
		case <-expired:
		}
	}
}

// tell sends the service manager the news, if there is one. A manager that takes no message now gets it in the next round. A
// message restarts the manager's watchdog, so it goes only while the bound is farther away.
func (w *wrapper) tell() {
	late := w.watchdog > 0 && w.left() <= w.watchdog
	if w.news != "" && !late && !errors.Is(w.notify(w.news), unix.EAGAIN) {
		w.news = ""
	}
}

// notify sends a message to the service manager, if there is one, without waiting for room, as systemd.SdNotify does.
func (c Config) notify(state string) error {
	at := slices.IndexFunc(c.Environ, func(variable string) bool { return strings.HasPrefix(variable, "NOTIFY_SOCKET=") })
	if at < 0 {
		return nil
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	_, socket, _ := strings.Cut(c.Environ[at], "=")
	return unix.Sendto(fd, []byte(state), unix.MSG_DONTWAIT, &unix.SockaddrUnix{Name: socket})
}
