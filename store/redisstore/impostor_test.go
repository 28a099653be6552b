package redisstore_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store/redisstore"
)

func TestListOutlivesAnAnswerThatIsTooShort(t *testing.T) {
	server := testkit.Redis(t)
	swap(t, open(t, redisstore.Config{Endpoints: []string{server.Addr()}}), "key", "", "value")
	s := open(t, redisstore.Config{Endpoints: []string{impostor(t, server.Addr(), "getrange", "*0\r\n")}})
	var last error
	for e, err := range s.List(t.Context(), "") {
		if err == nil {
			t.Errorf("lists %+v", e)
		}
		last = err
	}
	if last == nil {
		t.Error("the list is said to be whole")
	}
}

func TestServerThatRepeatsThePasswordIsNotQuoted(t *testing.T) {
	server := testkit.Redis(t, "--rename-command", "HELLO", "gone", "--rename-command", "AUTH", "away")
	for _, user := range []string{"", "ids"} {
		s, err := redisstore.Open(t.Context(), redisstore.Config{Endpoints: []string{server.Addr()}, User: user, Password: "hush-hush"})
		if err == nil {
			t.Fatalf("opened %v", s)
		}
		if text := err.Error(); strings.Contains(text, "hush") || !strings.Contains(text, "unknown command") {
			t.Errorf("user %q: %s", user, text)
		}
	}
}

// impostor passes on what a client and a server say to each other, and answers
// a command itself.
func impostor(t *testing.T, target, command, answer string) (address string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	pass := func(client net.Conn) error {
		server, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", target)
		if err != nil {
			return errors.Join(err, client.Close())
		}
		go func() { _, _ = io.Copy(client, server) }()
		request := make([]byte, 64<<10)
		for {
			n, err := client.Read(request)
			if err != nil {
				return errors.Join(err, client.Close(), server.Close())
			}
			if bytes.Contains(bytes.ToLower(request[:n]), []byte(command)) {
				_, err = io.WriteString(client, answer)
			} else {
				_, err = server.Write(request[:n])
			}
			if err != nil {
				return errors.Join(err, client.Close(), server.Close())
			}
		}
	}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _ = pass(client) }()
		}
	}()
	return listener.Addr().String()
}
