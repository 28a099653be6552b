package zkstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
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
	c, events, err := zk.Connect([]string{address}, sessionTimeout, zk.WithLogInfo(false))
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
		{"WhatAnyoneMayReadIsNotTheirsToSwap", whatAnyoneMayReadIsNotTheirsToSwap},
		{"SyncGoesBeforeEachRead", syncGoesBeforeEachRead},
		{"LoggerIsToldOfTroubleAndOfNoSecret", loggerIsToldOfTroubleAndOfNoSecret},
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

func whatAnyoneMayReadIsNotTheirsToSwap(t *testing.T, _ *testkit.Server, c zkstore.Config) {
	owner, anyone := c, c
	owner.User, owner.Password = "snowfence", "secret:with colon"
	c = owner
	readable := owner
	readable.Prefix, readable.ACL = c.Prefix+"-readable", zkstore.ACLCreatorRead
	servertest.Swap(t, open(t, readable), "key", "", "value")
	anyone.Prefix = readable.Prefix
	other := open(t, anyone)
	e, err := other.Get(t.Context(), "key")
	if err != nil {
		t.Errorf("get of a public node: %v", err)
	}
	if _, err := other.Swap(t.Context(), "key", e.Version, nil); err == nil || errors.Is(err, store.ErrConflict) {
		t.Errorf("swap of a public node: %v", err)
	}
}

func loggerIsToldOfTroubleAndOfNoSecret(t *testing.T, server *testkit.Server, c zkstore.Config) {
	proxy := testkit.NewProxy(t, server.Addr())
	var text bytes.Buffer // complete once the store is closed
	c.Endpoints = []string{proxy.Addr()}
	c.User, c.Password = "snowfence", "s3cr3t"
	c.Logger = slog.New(slog.NewTextHandler(&text, nil))
	s, err := zkstore.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	version := servertest.Swap(t, s, "key", "", "value")
	proxy.LoseReplyTo(func(sent []byte) bool { return bytes.Contains(sent, []byte("snowfence 1 ")) }) // only swaps hold values
	if _, err := s.Swap(t.Context(), "key", version, nil); err == nil {
		t.Error("a swap whose reply was lost succeeds")
	}
	if _, err := s.Get(t.Context(), "key"); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if said := text.String(); !strings.Contains(said, "zookeeper: ") || strings.Contains(said, "s3cr3t") {
		t.Errorf("the log says %q", said)
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
