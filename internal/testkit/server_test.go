//go:build servers

package testkit_test

import (
	"context"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
)

// call sends a command to a Redis server and expects a reply.
func call(t *testing.T, s *testkit.Server, command, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if got, err := testkit.RedisCall(ctx, s.Addr(), command); err != nil || got != want {
		t.Fatalf("%s: %q (%v), want %q", command, got, err, want)
	}
}

func TestServerStartsAgainWithItsFolderAndPorts(t *testing.T) {
	s := testkit.Redis(t)
	dir, addr := s.Dir, s.Addr()
	call(t, s, "SET key value", "OK")
	for name, end := range map[string]func(){"kill": s.Kill, "stop": s.Stop} {
		end()
		if _, err := testkit.RedisCall(t.Context(), s.Addr(), "PING"); err == nil {
			t.Errorf("%s: the server answers", name)
		}
		s.Kill() // there is nothing left to kill
		s.Start()
		call(t, s, "GET key", "value")
	}
	if s.Dir != dir || s.Addr() != addr {
		t.Errorf("in %s at %s, was in %s at %s", s.Dir, s.Addr(), dir, addr)
	}
	if !strings.Contains(s.Log(), "Ready to accept connections") {
		t.Errorf("the log does not show it:\n%s", s.Log())
	}
}
