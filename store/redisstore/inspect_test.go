package redisstore_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/redisstore"
)

// judged opens a store, and wants it refused for a setting, or opened if that is empty.
func judged(t *testing.T, server *testkit.Server, when string, c redisstore.Config, setting string) {
	t.Helper()
	c.Endpoints = []string{server.Addr()}
	s, err := redisstore.Open(t.Context(), c)
	if err == nil {
		defer func() { _ = s.Close() }()
	}
	var unfit *redisstore.ServerError
	switch refused := errors.As(err, &unfit); {
	case !refused && err != nil, refused != (setting != ""), refused && (unfit.Setting != setting || unfit.Server != server.Addr()):
		t.Errorf("%s: the error is %v, want one about %q", when, err, setting)
	}
}

func TestUnfitServerIsRefusedByName(t *testing.T) {
	for _, test := range []struct {
		name      string
		arguments []string
		config    redisstore.Config
		setting   string
	}{
		{"evicts", []string{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}, redisstore.Config{}, "maxmemory_policy"},
		{"forgets", []string{"--appendonly", "no"}, redisstore.Config{}, "aof_enabled"},
		{"syncs late, and is declared durable", []string{"--appendfsync", "everysec"}, redisstore.Config{Durable: true}, "appendfsync"},
		{"is a cluster's", []string{"--cluster-enabled", "yes"}, redisstore.Config{}, "redis_mode"},
		{"outlasts the loss", []string{"--min-replicas-to-write", "1"}, redisstore.Config{Loss: 12900 * time.Millisecond}, "min-replicas-max-lag"},
		{"is a replica", []string{"--replicaof", "127.0.0.1 1"}, redisstore.Config{}, "role"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := testkit.Redis(t, test.arguments...)
			judged(t, server, test.name, test.config, test.setting)
			if found := command(t, server, "DBSIZE"); found != "0" {
				t.Errorf("there are %s keys", found)
			}
		})
	}
}

// TestLagThatNothingBoundsIsNotGuessed is about a server with replicas that may take its place.
func TestLagThatNothingBoundsIsNotGuessed(t *testing.T) {
	primary := testkit.Redis(t)
	unsaid, said := redisstore.Config{}, redisstore.Config{Loss: 11 * time.Second}
	hidden := redisstore.Config{User: "ids", Password: "ids"}
	command(t, primary, "ACL SETUSER ids on >ids ~* +@all -config")

	judged(t, primary, "alone", unsaid, "")
	judged(t, primary, "alone, settings hidden", hidden, "")
	testkit.RedisReplica(t, primary.Addr())
	counted(t, primary, 1)
	judged(t, primary, "with a replica", unsaid, "min-replicas-to-write")
	judged(t, primary, "with a replica, settings hidden", hidden, "min-replicas-to-write")
	judged(t, primary, "with a replica, and a loss said", said, "")
	command(t, primary, "CONFIG SET min-replicas-to-write 1")
	judged(t, primary, "with a replica that must answer", unsaid, "")
	judged(t, primary, "with a replica that must answer, and a loss said that is too small", said, "min-replicas-max-lag")
	judged(t, primary, "with a replica that must answer, settings hidden", hidden, "min-replicas-to-write")
	testkit.RedisReplica(t, primary.Addr())
	counted(t, primary, 2)
	judged(t, primary, "with two, and one must answer", unsaid, "min-replicas-to-write")
	command(t, primary, "CONFIG SET min-replicas-to-write 2")
	judged(t, primary, "with two that must answer", unsaid, "")
}

func TestServerIsJudgedAgainByEveryConnection(t *testing.T) {
	s, server := opened(t)
	servertest.Swap(t, s, "key", "", "value")
	command(t, server, "CONFIG SET maxmemory-policy allkeys-lru", "CONFIG SET maxmemory 100mb", "CLIENT KILL TYPE normal")
	var unfit *redisstore.ServerError
	if _, err := s.Get(t.Context(), "key"); !errors.As(err, &unfit) {
		t.Errorf("get: %v", err)
	}
	command(t, server, "CONFIG SET maxmemory-policy noeviction")
	if _, err := s.Get(t.Context(), "key"); err != nil {
		t.Errorf("get of a server that was set right: %v", err)
	}
}

// TestReplicaThatJoinsARunningStoreIsRefused is about a loss that is the default, which the replica makes a guess.
func TestReplicaThatJoinsARunningStoreIsRefused(t *testing.T) {
	s, server := opened(t)
	version := servertest.Swap(t, s, "key", "", "value")
	testkit.RedisReplica(t, server.Addr())
	counted(t, server, 1)
	command(t, server, "CLIENT KILL TYPE normal") // the next connection judges the server again
	var unfit *redisstore.ServerError
	if _, err := s.Swap(t.Context(), "key", version, nil); !errors.As(err, &unfit) || unfit.Setting != "min-replicas-to-write" {
		t.Errorf("swap: %v", err)
	}
	command(t, server, "CONFIG SET min-replicas-to-write 1")
	servertest.Swap(t, s, "key", version, "again")
}

// TestRightsOfTheDocumentationAreWhatIsNeeded takes them from docs/engines.md. Each of
// them must be needed, and together they must suffice.
func TestRightsOfTheDocumentationAreWhatIsNeeded(t *testing.T) {
	server := testkit.Redis(t)
	rights := documentedRights(t)
	if len(rights) < 10 {
		t.Fatalf("docs/engines.md lists %q", rights)
	}
	// work does all that a store does, as a user with these rights, until the first error.
	work := func(rights []string) error {
		command(t, server, "FLUSHALL", "SCRIPT FLUSH", "ACL SETUSER snowfence reset "+strings.Join(rights, " "))
		s, err := redisstore.Open(t.Context(), redisstore.Config{
			Endpoints: []string{server.Addr()}, Database: 1, User: "snowfence", Password: "password",
		})
		if err != nil {
			return err
		}
		return errors.Join(testkit.UseStore(t.Context(), s), s.Close())
	}
	if err := work(rights); err != nil {
		t.Errorf("with all of %q: %v", rights, err)
	}
	for i, right := range rights {
		if !strings.HasPrefix(right, "+") {
			continue
		}
		err := work(slices.Delete(slices.Clone(rights), i, i+1))
		if optional := right == "+config|get"; optional != (err == nil) {
			t.Errorf("without %s: error %v", right, err)
		}
	}
}

// documentedRights returns the user's rights in docs/engines.md.
func documentedRights(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/engines.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rule, _ := strings.Cut(string(text), "ACL SETUSER snowfence ")
	rule, _, _ = strings.Cut(rule, "\n\n")
	return strings.Fields(rule)
}

// TestManyRegistersAreListedInOrderAndTakeTheirRoom holds the register's size in docs/engines.md.
func TestManyRegistersAreListedInOrderAndTakeTheirRoom(t *testing.T) {
	s, server := opened(t, "--appendfsync", "everysec")
	used := func() (bytes int) {
		for line := range strings.Lines(command(t, server, "INFO memory")) {
			_, _ = fmt.Sscanf(line, "used_memory_dataset:%d", &bytes)
		}
		return bytes
	}
	const registers = 10000 // 40 pages
	before := used()
	for i := range registers {
		servertest.Swap(t, s, fmt.Sprintf("default/worker/%019d", i), "", strings.Repeat("x", 500))
	}
	if each := (used() - before) / registers; each < 600 || each > 900 {
		t.Errorf("a register costs %d bytes", each)
	}
	pages := commandCalls(t, server, "zrange")
	var keys []string
	if err := servertest.Listed(t.Context(), s, "default/", func(e store.Entry) { keys = append(keys, e.Key) }); err != nil {
		t.Error(err)
	}
	if len(slices.Compact(keys)) != registers || !slices.IsSorted(keys) {
		t.Errorf("%d keys are listed, in order: %t", len(keys), slices.IsSorted(keys))
	}
	if n := commandCalls(t, server, "zrange") - pages; n != registers/250+1 {
		t.Errorf("they are listed in %d pages", n)
	}
}
