package testkit

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"
)

// Accepts is a Program's Ready: nil once the first port accepts a connection.
func Accepts(ctx context.Context, s *Server) error {
	_, err := ask(ctx, s.Addr(), "", func(*bufio.Reader) (string, error) { return "", nil })
	return err
}

// Ports of servers lie below the ports that a system gives to connections, and to listeners that ask
// for any: 32768 and up on Linux, higher ones elsewhere. So none of these takes one before its server
// does, or while that is down. Nor one 10,000 above, which Redis uses for its cluster.
const (
	firstPort = 12000
	manyPorts = 10000
)

// drawn counts the ports that this process has drawn.
var drawn atomic.Int64 //nolint:gochecknoglobals // servers of all tests of a process need different ports

// FreePort returns a port of 127.0.0.1 that was free a moment ago, another one each
// time. Processes begin at different ones.
func FreePort(t testing.TB) int {
	t.Helper()
	for range manyPorts {
		port := firstPort + (os.Getpid()*257+int(drawn.Add(1)))%manyPorts
		listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue // somebody has it
		}
		_ = listener.Close()
		return port
	}
	t.Fatalf("no port from %d to %d is free", firstPort, firstPort+manyPorts-1)
	return 0
}

// ask connects to an address, sends something and reads an answer, all before the
// context ends.
func ask(ctx context.Context, address, request string, answer func(*bufio.Reader) (string, error)) (string, error) {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer func() { _ = connection.Close() }()
	defer context.AfterFunc(ctx, func() { _ = connection.SetDeadline(time.Unix(1, 0)) })()
	if _, err := io.WriteString(connection, request); err != nil {
		return "", err
	}
	return answer(bufio.NewReader(connection))
}

// readLine reads the first line of an answer.
func readLine(r *bufio.Reader) (string, error) { return r.ReadString('\n') }
