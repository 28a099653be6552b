package wrap

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

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

// tell tells the service manager the news, if there is one. A manager that takes no message now gets it in the next round. A
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
