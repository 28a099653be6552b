package zkstore_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"snowfence.example/snowfence/store/zkstore"
)

// A server that is none must not end the program, nor eat up its memory: the
// client library reads in a goroutine of its own, where nobody can recover.
func TestServerOfAnotherKindIsSurvived(t *testing.T) {
	session := packet(0, 4000, 0, 7, 16, 0, 0, 0, 0)
	cases := []struct {
		name   string
		greets []byte // in answer to the request for a session
		says   []byte // in answer to the next request
	}{
		{"another protocol", []byte("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"), nil},
		{"an alert of TLS", []byte("\x15\x03\x03\x00\x02\x02\x46"), nil},
		{"no timeout", packet(0, 0, 0, 7, 16, 0, 0, 0, 0), nil},
		{"a negative timeout", packet(0, 1<<31, 0, 7, 16, 0, 0, 0, 0), nil},
		{"a short greeting", packet(0), nil},
		{"an empty packet", session, packet()},
		{"a packet shorter than its header", session, packet(1)},
		{"an event without a path", session, packet(1<<32-1, 0, 0, 0)},
		{"a packet of 2 GiB", session, []byte("\x7f\xff\xff\xff")},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if s, err := zkstore.Open(ctx, zkstore.Config{Endpoints: []string{impostor(t, c.greets, c.says)}}); err == nil {
				t.Error("opened")
				_ = s.Close()
			}
			runtime.ReadMemStats(&after)
			if asked := after.TotalAlloc - before.TotalAlloc; asked > 100<<20 {
				t.Errorf("asked for %d MiB", asked>>20)
			}
		})
	}
}

// packet is one as ZooKeeper sends it: its length, and numbers of 32 bits.
func packet(numbers ...uint32) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(4*len(numbers)))
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	return b
}

// impostor is a server that says what it is told to.
func impostor(t *testing.T, greets, says []byte) (address string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = connection.Close() }()
				for _, answer := range [][]byte{greets, says} {
					length := make([]byte, 4)
					if _, err := io.ReadFull(connection, length); err != nil {
						return
					}
					if _, err := io.CopyN(io.Discard, connection, int64(binary.BigEndian.Uint32(length))); err != nil {
						return
					}
					if _, err := io.Copy(connection, bytes.NewReader(answer)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}
