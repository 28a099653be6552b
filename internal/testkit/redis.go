package testkit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Redis starts a Redis server that refuses to drop keys and syncs every write.
// More arguments are added to its command line.
func Redis(t testing.TB, arguments ...string) *Server {
	t.Helper()
	return redis(t, redisAnswers, arguments, nil)
}

// RedisReplica starts a replica of the Redis server at an address, which may be a
// proxy's, with the same settings. It waits until it has all that the primary has.
func RedisReplica(t testing.TB, primary string) *Server {
	t.Helper()
	host, port, err := net.SplitHostPort(primary)
	if err != nil {
		t.Fatal(err)
	}
	return redis(t, redisFollows, []string{"--replicaof", host + " " + port}, nil)
}

// RedisSentinel starts a Sentinel that watches the primary under the name
// given, and fails over by itself when that has been silent for half a second.
func RedisSentinel(t testing.TB, name string, primary *Server) *Server {
	t.Helper()
	return StartServer(t, Program{
		Name: "redis-server", Package: "redis-server",
		Prepare: func(s *Server) error {
			config := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\n"+
				"sentinel monitor %s 127.0.0.1 %d 1\nsentinel down-after-milliseconds %s 500\nsentinel failover-timeout %s 3000\n",
				s.Ports[0], s.Dir, name, primary.Ports[0], name, name)
			return os.WriteFile(filepath.Join(s.Dir, "sentinel.conf"), []byte(config), 0o600)
		},
		Arguments: func(s *Server) []string {
			return []string{filepath.Join(s.Dir, "sentinel.conf"), "--sentinel"}
		},
		Ready: redisAnswers,
	})
}

// RedisCall sends one command, of words without spaces, to a Redis server, and
// returns its reply: a status, a number or a text. It is for a test's changes of the server itself.
func RedisCall(ctx context.Context, address, command string) (string, error) {
	return ask(ctx, address, command+"\r\n", redisReply)
}

// redis starts a server. It reads redisConfig, which prepare writes into its folder, at each start.
func redis(t testing.TB, ready func(context.Context, *Server) error, arguments []string, prepare func(*Server) error) *Server {
	t.Helper()
	var file []string
	if prepare != nil {
		file = []string{redisConfig}
	}
	return StartServer(t, Program{
		Name: "redis-server", Package: "redis-server",
		Prepare: prepare,
		Arguments: func(s *Server) []string {
			return slices.Concat(file, []string{
				"--port", strconv.Itoa(s.Ports[0]), "--bind", "127.0.0.1", "--dir", s.Dir, "--save", "", "--daemonize", "no",
				"--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction",
				// A replica gets its copy at once.
				"--repl-diskless-sync-delay", "0",
			}, arguments)
		},
		Ready: ready,
	})
}

// redisAnswers is ready once the server answers, perhaps by asking for a password, and has loaded its
// disk.
func redisAnswers(ctx context.Context, s *Server) error {
	_, err := RedisCall(ctx, s.Addr(), "PING")
	if err != nil && strings.HasPrefix(err.Error(), "NOAUTH") {
		return nil
	}
	return err
}

// redisConfig is the name of a configuration file, in the folder of its server.
const redisConfig = "redis.conf"

// redisFollows is ready once the server is a replica that has caught up, or a primary.
func redisFollows(ctx context.Context, s *Server) error {
	if err := redisAnswers(ctx, s); err != nil {
		return err
	}
	info, err := RedisCall(ctx, s.Addr(), "INFO replication")
	if err != nil {
		return err
	}
	if strings.Contains(info, "role:slave") && !strings.Contains(info, "master_link_status:up") {
		return errors.New("the replica has not caught up")
	}
	return nil
}

// redisReply reads a reply that is not a list.
func redisReply(r *bufio.Reader) (string, error) {
	line, err := readLine(r)
	if err != nil {
		return "", err
	}
	kind, rest := line[0], strings.TrimSpace(line[1:])
	switch kind {
	case '-':
		return "", errors.New(rest)
	case '$':
		n, err := strconv.Atoi(rest)
		text := make([]byte, max(n, 0))
		if err == nil {
			_, err = io.ReadFull(r, text)
		}
		return string(text), err
	}
	return rest, nil
}
