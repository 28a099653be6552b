package zkstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/storetest"
	"snowfence.example/snowfence/store/zkstore"
)

// sessionTimeout is short, so that a silent server is soon given up.
const sessionTimeout = 2 * time.Second

func config(address string) zkstore.Config {
	return zkstore.Config{Endpoints: []string{address}, SessionTimeout: sessionTimeout}
}

func opener(c zkstore.Config) func(context.Context) (store.Store, error) {
	return func(ctx context.Context) (store.Store, error) { return zkstore.Open(ctx, c) }
}

func open(t *testing.T, c zkstore.Config) *zkstore.Store {
	t.Helper()
	s, err := zkstore.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func swap(t *testing.T, s store.Store, key string, prev store.Version, value string) store.Version {
	t.Helper()
	version, err := s.Swap(t.Context(), key, prev, []byte(value))
	if err != nil {
		t.Fatalf("swap %q to %q: %v", key, value, err)
	}
	return version
}

// raw is a bare client: what somebody else would use.
func raw(t *testing.T, address string) *zk.Conn {
	t.Helper()
	c, events, err := zk.Connect([]string{address}, sessionTimeout, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	late := time.NewTimer(20 * time.Second)
	defer late.Stop()
	for {
		select {
		case e := <-events:
			if e.State == zk.StateHasSession {
				return c
			}
		case <-late.C:
			t.Fatal("no session")
		}
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

// isSwap finds the swaps in what a client sends: only they hold values.
func isSwap(request []byte) bool { return bytes.Contains(request, []byte("snowfence 1 ")) }

// There is no Snapshot: ZooKeeper compares a number that a rollback takes back,
// as the package's comment says.
func TestConformance(t *testing.T) {
	t.Parallel()
	if address, ok := testkit.External("ZOOKEEPER"); ok {
		t.Run("plain", func(t *testing.T) {
			storetest.Run(t, storetest.Harness{Open: opener(config(address))})
		})
		return
	}
	t.Run("under faults", func(t *testing.T) {
		t.Parallel()
		// What is synced does not matter here, and takes time.
		server := testkit.ZooKeeper(t, "forceSync=no")
		var running sync.WaitGroup
		for name := range storetest.Faulty(storetest.Harness{}) {
			// Each has a prefix of its own: List asks for every folder of it.
			c := config(server.Addr())
			c.Prefix = "/" + name
			for other, harness := range storetest.Faulty(storetest.Harness{Open: opener(c)}) {
				if other == name {
					running.Go(func() {
						for _, violation := range storetest.Check(t.Context(), harness) {
							t.Errorf("%s: %v", name, violation)
						}
					})
				}
			}
		}
		running.Wait()
	})
	t.Run("server that restarts and loses replies", func(t *testing.T) {
		t.Parallel()
		server := testkit.ZooKeeper(t)
		proxy := testkit.NewProxy(t, server.Addr())
		makeFolders(t, server.Addr(), zkstore.DefaultPrefix)
		storetest.Run(t, storetest.Harness{
			Open: opener(config(server.Addr())),
			Restart: func(context.Context) error {
				server.Kill()
				return server.TryStart()
			},
			OpenLossy: func(ctx context.Context) (store.Store, func(), error) {
				s, err := zkstore.Open(ctx, config(proxy.Addr()))
				return s, func() { proxy.LoseReplyTo(isSwap) }, err
			},
		})
	})
}

// TestOneServer runs what a server can be shared for, because it takes a while
// to start. Each test has a prefix of its own, and leaves the server running.
func TestOneServer(t *testing.T) {
	t.Parallel() // most of it waits
	server := testkit.ZooKeeper(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *testkit.Server, zkstore.Config)
	}{
		{"PrefixesDoNotSeeEachOther", prefixesDoNotSeeEachOther},
		{"WhatIsNoRegisterIsDamageAndNotAbsence", whatIsNoRegisterIsDamageAndNotAbsence},
		{"NodeThatCanVanishIsDamage", nodeThatCanVanishIsDamage},
		{"RemovedPrefixIsDamageAndNotAbsence", removedPrefixIsDamageAndNotAbsence},
		{"ForeignNodeInAFolderIsDamage", foreignNodeInAFolderIsDamage},
		{"CredentialsKeepOthersOut", credentialsKeepOthersOut},
		{"SyncGoesBeforeEachRead", syncGoesBeforeEachRead},
		{"TraitsAreTheOperators", traitsAreTheOperators},
		{"LoggerIsToldOfTroubleAndOfNoSecret", loggerIsToldOfTroubleAndOfNoSecret},
		{"OpenClientSurvivesARestartOfItsServer", openClientSurvivesARestartOfItsServer},
		{"ForgottenConnectionIsSoonReplaced", forgottenConnectionIsSoonReplaced},
		{"ExpiredSessionIsReplaced", expiredSessionIsReplaced},
		{"CallReturnsSoonAfterItsContextEndsWhileTheServerHangs", callReturnsSoonAfterItsContextEndsWhileTheServerHangs},
		{"AbandonedCallsAreBoundedAndPass", abandonedCallsAreBoundedAndPass},
		{"SwapThatFoundNoSessionIsNeverSent", swapThatFoundNoSessionIsNeverSent},
		{"SwapIsSentOnceWhateverBecomesOfItsReply", swapIsSentOnceWhateverBecomesOfItsReply},
		{"AnyOfSeveralEndpointsWillDo", anyOfSeveralEndpointsWillDo},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := config(server.Addr())
			c.Prefix = "/" + test.name
			test.run(t, server, c)
		})
	}
}

func prefixesDoNotSeeEachOther(t *testing.T, server *testkit.Server, c zkstore.Config) {
	prefixes := []string{c.Prefix + "/a", c.Prefix + "/a/b", c.Prefix + "/a/b/c-d_e.f", ""}
	var stores []*zkstore.Store
	for _, prefix := range prefixes {
		c.Prefix = prefix
		stores = append(stores, open(t, c))
	}
	for n, s := range stores {
		swap(t, s, "b", "", prefixes[n])
	}
	for n, s := range stores {
		seen := 0
		for e, err := range s.List(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			seen++
			if e.Key != "b" || string(e.Value) != prefixes[n] {
				t.Errorf("prefix %q lists %q: %q", prefixes[n], e.Key, e.Value)
			}
		}
		if seen != 1 {
			t.Errorf("prefix %q lists %d registers, want 1", prefixes[n], seen)
		}
	}
}

func credentialsKeepOthersOut(t *testing.T, server *testkit.Server, c zkstore.Config) {
	owner := c
	owner.User, owner.Password = "snowfence", "secret:with colon"
	stranger := owner
	stranger.Password = "wrong"
	anyone := c

	s := open(t, owner)
	version := swap(t, s, "key", "", "value")
	for name, c := range map[string]zkstore.Config{"a stranger": stranger, "anyone": anyone} {
		other := open(t, c)
		if _, err := other.Get(t.Context(), "key"); err == nil || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrDamaged) {
			t.Errorf("get by %s: %v", name, err)
		}
		if _, err := other.Swap(t.Context(), "key", version, nil); err == nil || errors.Is(err, store.ErrConflict) {
			t.Errorf("swap by %s: %v", name, err)
		}
	}
	// The credentials outlive the connection and the session.
	server.Kill()
	server.Start()
	version = swap(t, s, "key", version, "after a restart")
	if e, err := open(t, owner).Get(t.Context(), "key"); err != nil || e.Version != version {
		t.Errorf("get by the owner: %+v, %v", e, err)
	}

	readable := owner
	readable.Prefix, readable.ACL = c.Prefix+"-readable", zkstore.ACLCreatorRead
	swap(t, open(t, readable), "key", "", "value")
	anyone.Prefix = readable.Prefix
	other := open(t, anyone)
	e, err := other.Get(t.Context(), "key")
	if err != nil {
		t.Errorf("get of what anyone may read: %v", err)
	}
	if _, err := other.Swap(t.Context(), "key", e.Version, nil); err == nil || errors.Is(err, store.ErrConflict) {
		t.Errorf("swap of what anyone may read: %v", err)
	}
}

func traitsAreTheOperators(t *testing.T, _ *testkit.Server, c zkstore.Config) {
	for _, loss := range []time.Duration{0, time.Second} {
		c.Loss = loss
		traits, err := open(t, c).Traits(t.Context())
		want := store.Traits{Engine: "zookeeper", Durable: loss == 0, Loss: loss}
		if err != nil || traits != want {
			t.Errorf("loss %v: traits %v, %v, want %v", loss, traits, err, want)
		}
	}
}

func loggerIsToldOfTroubleAndOfNoSecret(t *testing.T, server *testkit.Server, c zkstore.Config) {
	proxy := testkit.NewProxy(t, server.Addr())
	var text bytes.Buffer
	c.Endpoints = []string{proxy.Addr()}
	c.User, c.Password = "snowfence", "s3cr3t"
	c.Logger = slog.New(slog.NewTextHandler(&text, nil))
	s, err := zkstore.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	version := swap(t, s, "key", "", "value")
	proxy.LoseReplyTo(isSwap)
	if _, err := s.Swap(t.Context(), "key", version, nil); err == nil {
		t.Error("a swap whose reply was lost succeeds")
	}
	if _, err := s.Get(t.Context(), "key"); err != nil {
		t.Error(err)
	}
	// What the log says is complete once nobody writes to it any more.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if said := text.String(); !strings.Contains(said, "zookeeper: ") || strings.Contains(said, "s3cr3t") {
		t.Errorf("the log says %q", said)
	}
}

func TestPrefixThatHasToExistIsNotCreated(t *testing.T) {
	server := testkit.ZooKeeper(t)
	client := raw(t, server.Addr())
	if _, err := client.Create("/above", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	for _, prefix := range []string{"/typo", "/typo/below", "/above/typo"} {
		c := config(server.Addr())
		c.Prefix, c.Existing = prefix, true
		_, err := zkstore.Open(t.Context(), c)
		if !errors.Is(err, store.ErrNoStore) || !strings.Contains(err.Error(), "typo") {
			t.Errorf("%s: %v, want %v", prefix, err, store.ErrNoStore)
		}
	}
	for parent, want := range map[string]string{"/": "[above zookeeper]", "/above": "[]"} {
		names, _, err := client.Children(parent)
		slices.Sort(names)
		if got := fmt.Sprint(names); err != nil || got != want {
			t.Errorf("%s has %s now (%v), want %s", parent, got, err, want)
		}
	}
	c := config(server.Addr())
	swap(t, open(t, c), "key", "", "value")
	c.Existing = true
	if e, err := open(t, c).Get(t.Context(), "key"); err != nil || string(e.Value) != "value" {
		t.Errorf("a store that exists: %+v, %v", e, err)
	}
}
