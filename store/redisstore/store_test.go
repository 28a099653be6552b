package redisstore_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/redisstore"
)

// at is a config of a store at addresses.
func at(addresses ...string) redisstore.Config { return redisstore.Config{Endpoints: addresses} }

func open(t *testing.T, c redisstore.Config) *redisstore.Store {
	t.Helper()
	return servertest.Opened(t, redisstore.Open, c)
}

// opened starts a server, and opens a store on it.
func opened(t *testing.T, arguments ...string) (*redisstore.Store, *testkit.Server) {
	t.Helper()
	server := testkit.Redis(t, arguments...)
	return open(t, at(server.Addr())), server
}

// command does something to the server itself, and returns the last reply.
func command(t *testing.T, server *testkit.Server, texts ...string) (reply string) {
	t.Helper()
	for _, text := range texts {
		var err error
		if reply, err = testkit.RedisCall(t.Context(), server.Addr(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return reply
}

// replicated waits until the replica has all that the primary has now. (WAIT
// would not do: it is about the writes of its own connection.)
func replicated(t *testing.T, primary, replica *testkit.Server) {
	t.Helper()
	offset := func(server *testkit.Server, name string) int64 {
		n := int64(-1)
		for line := range strings.Lines(command(t, server, "INFO replication")) {
			_, _ = fmt.Sscanf(line, name+":%d", &n)
		}
		return n
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
func commandCalls(t *testing.T, server *testkit.Server, name string) (calls int) {
	t.Helper()
	for line := range strings.Lines(command(t, server, "INFO commandstats")) {
		_, _ = fmt.Sscanf(line, "cmdstat_"+name+":calls=%d,", &calls)
	}
	return calls
}

// loadScript makes the server know the script, and changes nothing.
func loadScript(t *testing.T, s store.Store) {
	t.Helper()
	if _, err := s.Swap(t.Context(), "no-such-key-"+strings.ToLower(rand.Text()), "no-such-version", nil); !errors.Is(err, store.ErrConflict) {
		t.Fatal(err)
	}
}

func TestRegistersNeverExpire(t *testing.T) {
	s, server := opened(t)
	version := servertest.Swap(t, s, "key", "", "value")
	command(t, server, "EXPIRE snowfence:register:key 1000")
	servertest.Swap(t, s, "key", version, "again")
	for _, name := range []string{"register:key", "index:"} {
		if ttl := command(t, server, "TTL snowfence:"+name); ttl != "-1" {
			t.Errorf("the TTL of %s is %s", name, ttl)
		}
	}
}

func TestRegisterOf100MBCostsNothing(t *testing.T) {
	s, server := opened(t)
	servertest.Swap(t, s, "key", "", "value")
	command(t, server, "SETRANGE snowfence:register:key 100000000 x")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := s.Get(t.Context(), "key")
	errs := map[string]error{"get": err, "list": servertest.Listed(t.Context(), s, "", nil)}
	runtime.ReadMemStats(&after)
	for call, err := range errs {
		if !errors.Is(err, store.ErrDamaged) || !strings.Contains(fmt.Sprint(err), "longer than 4096 bytes") {
			t.Errorf("%s: %v", call, err)
		}
	}
	if cost := after.TotalAlloc - before.TotalAlloc; cost > 8<<20 {
		t.Errorf("%d calls cost %d MiB", len(errs), cost>>20)
	}
}

// The server answers GETRANGE with a list of nothing.
func TestListOutlivesAnAnswerThatIsTooShort(t *testing.T) {
	s, server := opened(t, "--rename-command", "GETRANGE", "gone", "--rename-command", "LRANGE", "GETRANGE")
	command(t, server, "ZADD snowfence:index: 0 key")
	if err := servertest.Listed(t.Context(), s, "", func(e store.Entry) { t.Errorf("lists %+v", e) }); err == nil {
		t.Error("the list is taken for whole")
	}
}

func TestServerThatRepeatsThePasswordIsNotQuoted(t *testing.T) {
	server := testkit.Redis(t, "--rename-command", "HELLO", "gone", "--rename-command", "AUTH", "away")
	for _, user := range []string{"", "ids"} {
		c := at(server.Addr())
		c.User, c.Password = user, "hush-hush"
		if text := fmt.Sprint(servertest.Refusal(t, redisstore.Open, c)); strings.Contains(text, "hush") || !strings.Contains(text, "unknown command") {
			t.Errorf("user %q: %s", user, text)
		}
	}
}

// The client library leaves the commands of a pipeline without an error when
// the connection that they were for was refused by the server.
func TestServerThatRefusesToLetUsInIsNoDamage(t *testing.T) {
	server := testkit.Redis(t)
	proxy := testkit.NewProxy(t, server.Addr())
	c := at(proxy.Addr())
	c.Password = "before"
	s := open(t, c)
	version := servertest.Swap(t, s, "key", "", "value")
	command(t, server, "CONFIG SET requirepass after")
	proxy.ResetAll()
	get := func(key string) error { _, err := s.Get(t.Context(), key); return err }
	for range 2 { // the first may have met a connection that was reset
		_, swapped := s.Swap(t.Context(), "key", version, nil)
		for call, err := range map[string]error{
			"get": get("key"), "get of none": get("absent"), "swap": swapped, "list": servertest.Listed(t.Context(), s, "", nil),
		} {
			if err == nil || errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
				t.Errorf("%s: %v", call, err)
			}
		}
	}
}

// TestSwapIsNeverRepeated counts the server's commands: the client library
// repeats a request three times unless set otherwise, after each of these.
func TestSwapIsNeverRepeated(t *testing.T) {
	s, server := opened(t)
	loadScript(t, s)
	for name, commands := range map[string][2]string{
		"want-of-replicas": {"CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"},
		"want-of-memory":   {"CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"},
		"now-a-replica":    {"REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"},
	} {
		t.Run(name, func(t *testing.T) {
			command(t, server, commands[0])
			before := commandCalls(t, server, "evalsha")
			if _, err := s.Swap(t.Context(), name, "", []byte("once")); err == nil || errors.Is(err, store.ErrConflict) {
				t.Errorf("the swap returned %v", err)
			}
			if calls := commandCalls(t, server, "evalsha") - before; calls != 1 {
				t.Errorf("the server was sent %d swaps", calls)
			}
			command(t, server, commands[1])
			testkit.Eventually(t, func(context.Context) error {
				if _, err := s.Get(t.Context(), name); !errors.Is(err, store.ErrNotFound) {
					return fmt.Errorf("the swap that was refused: %w", err)
				}
				return nil
			})
		})
	}
}

func TestForgottenScriptIsSentOnceMoreAndTakesEffectOnce(t *testing.T) {
	server := testkit.Redis(t)
	proxy := testkit.NewProxy(t, server.Addr())
	s := open(t, at(proxy.Addr()))
	version := servertest.Swap(t, s, "key", "", "first") // a fresh server has not seen the script
	loadScript(t, s)
	// forgotten makes a swap of a script that the server has forgotten, and counts commands.
	forgotten := func(swap func()) {
		t.Helper()
		command(t, server, "SCRIPT FLUSH")
		before := map[string]int{}
		for _, name := range []string{"set", "eval", "evalsha"} {
			before[name] = commandCalls(t, server, name)
		}
		swap()
		for name, n := range before {
			if n = commandCalls(t, server, name) - n; n != 1 {
				t.Errorf("%s was carried out %d times", name, n)
			}
		}
	}
	forgotten(func() { version = servertest.Swap(t, s, "key", version, "second") })
	// And when the reply to the second attempt is lost, there is no third.
	forgotten(func() {
		lost := proxy.LoseReplyTo(func(request []byte) bool { return bytes.Contains(request, []byte("\r\neval\r\n")) })
		if _, err := s.Swap(t.Context(), "key", version, []byte("third")); err == nil || errors.Is(err, store.ErrConflict) {
			t.Errorf("a swap whose reply was lost: %v", err)
		}
		<-lost
	})
	if e, err := s.Get(t.Context(), "key"); err != nil || string(e.Value) != "third" || e.Version == version {
		t.Errorf("the register is %+v, %v", e, err)
	}
}
