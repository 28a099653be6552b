package redisstore_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/redisstore"
)

func TestRegistersNeverExpire(t *testing.T) {
	server := testkit.Redis(t)
	s := open(t, redisstore.Config{Endpoints: []string{server.Addr()}})
	version := swap(t, s, "key", "", "value")
	command(t, server, "EXPIRE snowfence:register:key 1000")
	swap(t, s, "key", version, "again")
	for _, name := range []string{"register:key", "index:"} {
		if ttl := command(t, server, "TTL snowfence:"+name); ttl != "-1" {
			t.Errorf("the TTL of %s is %s", name, ttl)
		}
	}
}

func TestListStreamsManyPages(t *testing.T) {
	server := testkit.Redis(t, "--appendfsync", "everysec")
	s := open(t, redisstore.Config{Endpoints: []string{server.Addr()}})
	// 0, 1, one page, a page and one, and several.
	const pageSize = 250
	want := 0
	for _, n := range []int{0, 1, pageSize, pageSize + 1, 3*pageSize + 7} {
		prefix := fmt.Sprintf("of-%d/", n)
		for i := range n {
			swap(t, s, fmt.Sprintf("%s%05d", prefix, i), "", "value")
		}
		want += n
		count(t, s, prefix, n)
	}
	count(t, s, "", want)
	count(t, s, "of-", want)
	count(t, s, "p", 0)

	before := commandCalls(t, server, "zrange")
	for _, err := range s.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	if pages := commandCalls(t, server, "zrange") - before; pages != 1 {
		t.Errorf("a list that was left at its first entry read %d pages", pages)
	}
}

// count checks that List yields n registers in ascending order.
func count(t *testing.T, s store.Store, prefix string, n int) {
	t.Helper()
	last, found := "", 0
	for e, err := range s.List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Key <= last {
			t.Errorf("%q comes after %q", e.Key, last)
		}
		last = e.Key
		found++
	}
	if found != n {
		t.Errorf("list %q yields %d of %d", prefix, found, n)
	}
}

func open(t *testing.T, c redisstore.Config) *redisstore.Store {
	t.Helper()
	s, err := redisstore.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func swap(t *testing.T, s store.Store, key string, prev store.Version, value string) store.Version {
	t.Helper()
	version, err := s.Swap(t.Context(), key, prev, []byte(value))
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// loadScript makes the server know the script, and changes nothing.
func loadScript(t *testing.T, s store.Store) {
	t.Helper()
	if _, err := s.Swap(t.Context(), "no-such-key-"+strings.ToLower(rand.Text()), "no-such-version", nil); !errors.Is(err, store.ErrConflict) {
		t.Fatal(err)
	}
}

// sends matches requests with a command of that name.
func sends(name string) func([]byte) bool {
	return func(request []byte) bool { return bytes.Contains(request, []byte("\r\n"+name+"\r\n")) }
}

// command does something to the server itself.
func command(t *testing.T, server *testkit.Server, text string) string {
	t.Helper()
	reply, err := testkit.RedisCall(t.Context(), server.Addr(), text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return reply
}

// replicated waits until the replica has all that the primary has now. (WAIT
// would not do: it is about the writes of its own connection.)
func replicated(t *testing.T, primary, replica *testkit.Server) {
	t.Helper()
	offset := func(server *testkit.Server, name string) (n int64) {
		for line := range strings.Lines(command(t, server, "INFO replication")) {
			if found, _ := fmt.Sscanf(line, name+":%d", &n); found == 1 {
				return n
			}
		}
		return -1
	}
	want := offset(primary, "master_repl_offset")
	testkit.Eventually(t, func(context.Context) error {
		if has := offset(replica, "slave_repl_offset"); has < want {
			return fmt.Errorf("the replica is at %d of %d", has, want)
		}
		return nil
	})
}

// counted waits until the primary counts that many replicas. They are ready a
// moment before.
func counted(t *testing.T, primary *testkit.Server, replicas int) {
	t.Helper()
	testkit.Eventually(t, func(context.Context) error {
		if n := strings.Count(command(t, primary, "INFO replication"), "state=online"); n != replicas {
			return fmt.Errorf("the primary counts %d replicas", n)
		}
		return nil
	})
}

// commandCalls is how often the server has carried out a command.
func commandCalls(t *testing.T, server *testkit.Server, name string) int {
	t.Helper()
	for line := range strings.Lines(command(t, server, "INFO commandstats")) {
		var calls int
		if n, _ := fmt.Sscanf(line, "cmdstat_"+name+":calls=%d,", &calls); n == 1 {
			return calls
		}
	}
	return 0
}
