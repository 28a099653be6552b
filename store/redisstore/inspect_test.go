package redisstore_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store/redisstore"
)

func TestUnfitServerIsRefusedByName(t *testing.T) {
	tests := []struct {
		name      string
		arguments []string
		config    redisstore.Config
		setting   string
	}{
		{"evicts", []string{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}, redisstore.Config{}, "maxmemory_policy"},
		{"forgets", []string{"--appendonly", "no"}, redisstore.Config{}, "aof_enabled"},
		{"forgets, and is said to be durable", []string{"--appendonly", "no"}, redisstore.Config{Durable: true}, "aof_enabled"},
		{"syncs late, and is said to be durable", []string{"--appendfsync", "everysec"}, redisstore.Config{Durable: true}, "appendfsync"},
		{"syncs now and then, and is said to be durable", []string{"--no-appendfsync-on-rewrite", "yes"}, redisstore.Config{Durable: true}, "no-appendfsync-on-rewrite"},
		{"is a cluster's", []string{"--cluster-enabled", "yes"}, redisstore.Config{}, "redis_mode"},
		{"outlasts the loss", []string{"--min-replicas-to-write", "1"}, redisstore.Config{Loss: 12900 * time.Millisecond}, "min-replicas-max-lag"},
		{"is a replica", []string{"--replicaof", "127.0.0.1 1"}, redisstore.Config{}, "role"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := testkit.Redis(t, test.arguments...)
			test.config.Endpoints = []string{server.Addr()}
			_, err := redisstore.Open(t.Context(), test.config)
			var unfit *redisstore.ServerError
			if !errors.As(err, &unfit) || unfit.Setting != test.setting || unfit.Server != server.Addr() {
				t.Errorf("the error is %v, want one about %s", err, test.setting)
			}
			if err == nil {
				return
			}
			if found := command(t, server, "DBSIZE"); found != "0" {
				t.Errorf("there are %s keys", found)
			}
		})
	}
}

// TestLagThatNothingBoundsIsNotGuessed is about a server with replicas, of which
// one may take its place.
func TestLagThatNothingBoundsIsNotGuessed(t *testing.T) {
	primary := testkit.Redis(t)
	judged := func(when string, c redisstore.Config, want string) {
		t.Helper()
		c.Endpoints = []string{primary.Addr()}
		s, err := redisstore.Open(t.Context(), c)
		if err == nil {
			defer func() { _ = s.Close() }()
		}
		var unfit *redisstore.ServerError
		if got := errors.As(err, &unfit); got != (want != "") || got && unfit.Setting != want || !got && err != nil {
			t.Errorf("%s: the error is %v, want one about %q", when, err, want)
		}
	}
	unsaid, said := redisstore.Config{}, redisstore.Config{Loss: 11 * time.Second}
	hidden := redisstore.Config{User: "ids", Password: "ids"}
	command(t, primary, "ACL SETUSER ids on >ids ~* +@all -config")

	judged("alone", unsaid, "")
	judged("alone, settings hidden", hidden, "")
	testkit.RedisReplica(t, primary.Addr())
	counted(t, primary, 1)
	judged("with a replica", unsaid, "min-replicas-to-write")
	judged("with a replica, settings hidden", hidden, "min-replicas-to-write")
	judged("with a replica, and a loss said", said, "")
	command(t, primary, "CONFIG SET min-replicas-to-write 1")
	judged("with a replica that must answer", unsaid, "")
	judged("with a replica that must answer, and a loss said that is too small", said, "min-replicas-max-lag")
	judged("with a replica that must answer, settings hidden", hidden, "min-replicas-to-write")
	testkit.RedisReplica(t, primary.Addr())
	counted(t, primary, 2)
	judged("with two, of which one must answer", unsaid, "min-replicas-to-write")
	command(t, primary, "CONFIG SET min-replicas-to-write 2")
	judged("with two that must answer", unsaid, "")
}

func TestServerIsJudgedAgainByEveryConnection(t *testing.T) {
	server := testkit.Redis(t)
	s := open(t, redisstore.Config{Endpoints: []string{server.Addr()}})
	swap(t, s, "key", "", "value")
	command(t, server, "CONFIG SET maxmemory-policy allkeys-lru")
	command(t, server, "CONFIG SET maxmemory 100mb")
	command(t, server, "CLIENT KILL TYPE normal")
	var unfit *redisstore.ServerError
	if _, err := s.Get(t.Context(), "key"); !errors.As(err, &unfit) {
		t.Errorf("get: %v", err)
	}
	command(t, server, "CONFIG SET maxmemory-policy noeviction")
	if _, err := s.Get(t.Context(), "key"); err != nil {
		t.Errorf("get of a server that was set right: %v", err)
	}
}

// TestRightsOfTheDocumentationAreWhatIsNeeded takes them from docs/engines.md. Each of
// them must be needed, and together they must suffice.
func TestRightsOfTheDocumentationAreWhatIsNeeded(t *testing.T) {
	server := testkit.Redis(t)
	rights := documentedRights(t)
	if len(rights) < 10 {
		t.Fatalf("docs/engines.md lists %q", rights)
	}
	if err := work(t, server, rights); err != nil {
		t.Errorf("with all of %q: %v", rights, err)
	}
	for i, right := range rights {
		if !strings.HasPrefix(right, "+") {
			continue
		}
		err := work(t, server, slices.Delete(slices.Clone(rights), i, i+1))
		if optional := right == "+config|get"; optional != (err == nil) {
			t.Errorf("without %s: error %v", right, err)
		}
	}
}

// documentedRights returns what docs/engines.md gives to the user.
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

// work does everything that a store does, as a user with these rights, and
// returns the first error.
func work(t *testing.T, server *testkit.Server, rights []string) error {
	t.Helper()
	command(t, server, "FLUSHALL")
	command(t, server, "SCRIPT FLUSH")
	command(t, server, "ACL SETUSER snowfence reset "+strings.Join(rights, " "))
	s, err := redisstore.Open(t.Context(), redisstore.Config{
		Endpoints: []string{server.Addr()}, Database: 1, User: "snowfence", Password: "password",
	})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	version, err := s.Swap(t.Context(), "key", "", []byte("value"))
	if err != nil {
		return err
	}
	if _, err := s.Swap(t.Context(), "key", version, []byte("value")); err != nil {
		return err
	}
	if _, err := s.Get(t.Context(), "key"); err != nil {
		return err
	}
	if _, err := s.Now(t.Context()); err != nil {
		return err
	}
	for _, err := range s.List(t.Context(), "") {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestMemoryOfARegister holds what docs/engines.md says of a register's size.
func TestMemoryOfARegister(t *testing.T) {
	server := testkit.Redis(t, "--appendfsync", "everysec")
	s := open(t, redisstore.Config{Endpoints: []string{server.Addr()}})
	used := func() (bytes int) {
		for line := range strings.Lines(command(t, server, "INFO memory")) {
			_, _ = fmt.Sscanf(line, "used_memory_dataset:%d", &bytes)
		}
		return bytes
	}
	const registers = 10000
	before := used()
	value := strings.Repeat("x", 500)
	for i := range registers {
		swap(t, s, fmt.Sprintf("default/worker/%019d", i), "", value)
	}
	each := (used() - before) / registers
	t.Logf("%d bytes each", each)
	if each < 600 || each > 900 {
		t.Errorf("a register costs %d bytes", each)
	}
}
