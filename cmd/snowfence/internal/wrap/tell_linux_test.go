package wrap

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"testing"

	systemd "github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"

	"snowfence.example/snowfence"
)

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
