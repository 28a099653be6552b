package client

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"snowfence.example/snowfence"
)

// answers makes the answer of a server to the words of a command.
type answers func(words []string) string

const (
	hangUp = ""  // closes the connection in the place of an answer
	silent = "?" // no answer
)

// responder is a small server that speaks RESP.
type responder struct {
	answer   answers
	requests atomic.Int64
	open     sync.WaitGroup // its connections
}

// talk serves one connection until its client ends it.
func (s *responder) talk(c net.Conn) {
	defer func() { _ = c.Close() }()
	r := bufio.NewReader(c)
	for {
		words, err := readCommand(r)
		if err != nil {
			return
		}
		s.requests.Add(1)
		switch text := s.answer(words); text {
		case silent:
		case hangUp:
			return
		default:
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
		}
	}
}

func readCommand(r *bufio.Reader) ([]string, error) {
	var n int
	if _, err := fmt.Fscanf(r, "*%d\r\n", &n); err != nil {
		return nil, err
	}
	words := make([]string, n)
	for i := range words {
		var size int
		if _, err := fmt.Fscanf(r, "$%d\r\n", &size); err != nil {
			return nil, err
		}
		text := make([]byte, size+2)
		if _, err := io.ReadFull(r, text); err != nil {
			return nil, err
		}
		words[i] = string(text[:size])
	}
	return words, nil
}

// network connects clients to responders by pipes, which a bubble of synctest needs.
type network map[string]*responder

func (n network) dial(_ context.Context, _, address string) (net.Conn, error) {
	near, far := net.Pipe()
	n[address].open.Go(func() { n[address].talk(far) })
	return near, nil
}

// connected returns a client of servers that answer so: the first is "a", the second "b".
func connected(t *testing.T, cfg Config, all ...answers) (*Client, network) {
	t.Helper()
	servers := network{}
	for i, answer := range all {
		address := string(rune('a' + i))
		cfg.Servers = append(cfg.Servers, address)
		servers[address] = &responder{answer: answer}
	}
	cfg.Dial = servers.dial
	t.Cleanup(func() {
		for _, s := range servers {
			s.open.Wait()
		}
	})
	return newClient(t, cfg), servers
}

func newClient(t testing.TB, cfg Config) *Client {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// gives checks that the next ids of a client are these.
func gives(t *testing.T, c *Client, ids ...snowfence.ID) {
	t.Helper()
	for _, want := range ids {
		if id, err := c.Next(t.Context()); err != nil || id != want {
			t.Errorf("got %d, %v: want %d", id, err, want)
		}
	}
}

// listen serves on a port. It returns its address.
func listen(t testing.TB, answer answers) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serve(t, l, answer)
	return l.Addr().String()
}

// serve serves a listener until the test ends. Clients close their connections before.
func serve(t testing.TB, l net.Listener, answer answers) {
	s := &responder{answer: answer}
	s.open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.open.Go(func() { s.talk(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		s.open.Wait()
	})
}

// ranges writes runs as a server does: first, count, first, count.
func ranges(numbers ...int64) string {
	text := fmt.Sprintf("*%d\r\n", len(numbers))
	for _, n := range numbers {
		digits := strconv.FormatInt(n, 10)
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(digits), digits)
	}
	return text
}

// counting answers with 1, 2, 3 and so on from a counter, one run a request.
func counting(last *atomic.Int64) answers {
	return func(words []string) string {
		n, err := strconv.ParseInt(words[3], 10, 64)
		if err != nil || words[0] != "ID.NEXT" || words[1] != "default" || words[2] != "COUNT" || words[4] != "RANGES" {
			return fmt.Sprintf("-ERR unexpected %q\r\n", words)
		}
		return ranges(last.Add(n)-n+1, n)
	}
}

// script gives one answer after the other.
func script(all ...string) answers {
	var next atomic.Int64
	return func([]string) string {
		if n := int(next.Add(1)); n <= len(all) {
			return all[n-1]
		}
		return "-ERR the script has ended\r\n"
	}
}
