package zkstore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store/zkstore"
)

// sessionTimeout is short, so that a silent server is soon given up.
const sessionTimeout = 2 * time.Second

func config(address string) zkstore.Config {
	return zkstore.Config{Endpoints: []string{address}, SessionTimeout: sessionTimeout}
}

func open(t *testing.T, c zkstore.Config) *zkstore.Store {
	t.Helper()
	return servertest.Opened(t, zkstore.Open, c)
}

// raw is a bare client: another user's node.
func raw(t *testing.T, address string) *zk.Conn {
	t.Helper()
	c, events, err := zk.Connect([]string{address}, testkit.Hang, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for e := range events {
		if e.State == zk.StateHasSession {
			break
		}
	}
	return c
}

// makeNode makes a node that anybody may use.
func makeNode(t *testing.T, c *zk.Conn, path string, data []byte, flags int32) {
	t.Helper()
	if _, err := c.Create(path, data, flags, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatalf("make %s: %v", path, err)
	}
}

// makeFolders creates a prefix with all its folders, so that every create of a
// register is one request.
func makeFolders(t *testing.T, address, prefix string) {
	t.Helper()
	ops := []any{&zk.CreateRequest{Path: prefix, Data: []byte{}, Acl: zk.WorldACL(zk.PermAll)}}
	for n := range 256 {
		ops = append(ops, &zk.CreateRequest{
			Path: fmt.Sprintf("%s/%02x", prefix, n), Data: []byte{}, Acl: zk.WorldACL(zk.PermAll),
		})
	}
	if _, err := raw(t, address).Multi(ops...); err != nil {
		t.Fatalf("create folders: %v", err)
	}
}

// TestOneServer runs the tests that can share a server, because it takes a while to start. Each test
// has a prefix of its own, and leaves the server running.
func TestOneServer(t *testing.T) {
	t.Parallel() // most of it waits
	server := testkit.ZooKeeper(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *testkit.Server, zkstore.Config)
	}{
		{"NodeThatCanVanishIsDamage", nodeThatCanVanishIsDamage},
		{"RemovedPrefixIsDamageAndNotAbsence", removedPrefixIsDamageAndNotAbsence},
		{"ForeignNodeInAFolderIsDamage", foreignNodeInAFolderIsDamage},
		{"SyncGoesBeforeEachRead", syncGoesBeforeEachRead},
		{"ForgottenConnectionIsSoonReplaced", forgottenConnectionIsSoonReplaced},
		{"ExpiredSessionIsReplaced", expiredSessionIsReplaced},
		{"AbandonedCallsAreBoundedAndPass", abandonedCallsAreBoundedAndPass},
		{"SwapThatFoundNoSessionIsNeverSent", swapThatFoundNoSessionIsNeverSent},
		{"CreateIsSentOnceThoughItsReplyIsLost", createIsSentOnceThoughItsReplyIsLost},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := config(server.Addr())
			c.Prefix = "/" + test.name
			test.run(t, server, c)
		})
	}
}

func TestPasswordFileIsReadByOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "password")
	c := zkstore.Config{Endpoints: []string{"a:1"}, User: "me", PasswordFile: path}
	if _, err := zkstore.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "password-file") {
		t.Errorf("open without the file: %v", err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("x", 1<<17)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := zkstore.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("open with a password that is too long: %v", err)
	}
}
