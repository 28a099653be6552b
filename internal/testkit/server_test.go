//go:build servers

package testkit_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

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
		t.Errorf("the log does not tell of it:\n%s", s.Log())
	}
}

func TestPausedServerAnswersNothingUntilItResumes(t *testing.T) {
	s := testkit.Redis(t)
	s.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), quiet)
	defer cancel()
	if got, err := testkit.RedisCall(ctx, s.Addr(), "PING"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a paused server answers %q (%v)", got, err)
	}
	s.Resume()
	call(t, s, "PING", "PONG")
	s.Pause() // and the end of the test ends it all the same
}

func TestServerEndsWithItsTest(t *testing.T) {
	var s *testkit.Server
	t.Run("inner", func(t *testing.T) { s = testkit.Redis(t) })
	if _, err := testkit.RedisCall(t.Context(), s.Addr(), "PING"); err == nil {
		t.Error("the server answers")
	}
	if _, err := os.Stat(s.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its folder is still there: %v", err)
	}
}

func TestMissingServerFailsTheTestSayingWhatToInstall(t *testing.T) {
	got := failure(t, func(t testing.TB) {
		testkit.StartServer(t, testkit.Program{Name: "no-such-server", Places: []string{"/usr/lib/no-such/*/bin"}, Package: "such-server"})
	})
	want := "no-such-server is missing: install it first; on Debian and its kin: apt-get install such-server"
	if got != want {
		t.Errorf("message %q, want %q", got, want)
	}
}

func TestServerThatEndsBeforeItIsReadyFailsTheTestWithItsLog(t *testing.T) {
	begun := time.Now()
	got := failure(t, func(t testing.TB) { testkit.Redis(t, "--no-such-setting", "1") })
	if !strings.Contains(got, "redis-server ended before it was ready") || !strings.Contains(got, "no-such-setting") {
		t.Errorf("message:\n%s", got)
	}
	if took := time.Since(begun); took > patience {
		t.Errorf("it took %v", took)
	}
}
