package listen

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/budget"
	"snowfence.example/snowfence/daemon/internal/front"
)

// accepted connects to a front, and returns both ends.
func accepted(t *testing.T, front Front) (client, server net.Conn) {
	t.Helper()
	front.Address = "127.0.0.1:0"
	l, err := Open(t.Context(), front)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return client, server
}

func TestConnectionsOfAllFrontsShareTheirRoom(t *testing.T) {
	for limit, c := range map[string]struct {
		limits config.Limits
		memory int
	}{
		"connections": {config.Limits{Connections: 1}, 0},
		"memory":      {config.Limits{Connections: 10}, 15 << 10},
	} {
		room, meter := NewRoom(c.limits, c.memory), &counted{changed: make(chan struct{}, 1)}
		_, server := accepted(t, Front{Room: room, Keeps: 8 << 10})
		l, err := Open(t.Context(), Front{Address: "127.0.0.1:0", Room: room, Keeps: 8 << 10, Meter: meter})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		another := make(chan net.Conn, 1)
		go func() {
			c, err := l.Accept()
			if err == nil {
				another <- c
			}
		}()
		for range 2 { // the second one comes when the first front's has gone
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			select {
			case <-meter.changed:
				if meter.refused[0] != limit {
					t.Errorf("refused by %q, want %q", meter.refused, limit)
				}
				_ = server.Close()
			case c := <-another:
				_ = c.Close()
				another = nil
			}
		}
		if another != nil || room.kept != 0 {
			t.Errorf("%s: the end of a connection makes no room; %d bytes are kept", limit, room.kept)
		}
	}
}

func TestRequestsThatAreNotCompleteTakeFromTheMemory(t *testing.T) {
	memory := budget.New(16 << 10)
	client, server := accepted(t, Front{Room: NewRoom(limits, 0), Memory: memory, Patience: time.Hour})
	send := func(n int) error {
		if _, err := client.Write(make([]byte, n)); err != nil {
			t.Fatal(err)
		}
		_, err := io.ReadFull(server, make([]byte, n))
		return err
	}
	for range 3 { // each of them alone has room
		if err := send(9 << 10); err != nil || memory.Used() == 0 {
			t.Errorf("%v, %d bytes are taken", err, memory.Used())
		}
		front.Complete(server.RemoteAddr())
		if memory.Used() != 0 {
			t.Errorf("%d bytes are taken for requests that are complete", memory.Used())
		}
	}
	if err := errors.Join(send(9<<10), send(9<<10)); !errors.Is(err, budget.ErrSpent) {
		t.Errorf("two requests: %v", err)
	}
	_ = server.Close()
	if memory.Used() != 0 {
		t.Errorf("%d bytes are taken for a connection that is closed", memory.Used())
	}
	if got := front.Host(server.RemoteAddr()); !got.IsLoopback() {
		t.Errorf("the client's address is %s", got)
	}
}

func TestDescriptorsAreKeptForStores(t *testing.T) {
	limit, limited := descriptors()
	if got := Connections(int(min(limit, 1<<30)) + 1); limited && uint64(got) != max(limit, kept+leastConnections)-kept {
		t.Errorf("%d connections beside a limit of %d files", got, limit)
	}
	if got := Connections(1); got != 1 {
		t.Errorf("%d connections, want 1", got)
	}
}
