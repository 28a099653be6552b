package zkstore_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/zkstore"
)

func nodeThatCanVanishIsDamage(t *testing.T, server *testkit.Server, c zkstore.Config) {
	s := open(t, c)
	servertest.Swap(t, s, "a/b", "", "value")
	other := raw(t, server.Addr())
	path := find(t, other, c.Prefix, "a:b")
	data, _, err := other.Get(path)
	if err != nil {
		t.Fatal(err)
	}
	// Ours may not be deleted; it has to be allowed first.
	folder := path[:strings.LastIndexByte(path, '/')]
	if err := other.Delete(path, -1); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("a register can be deleted at will: %v", err)
	}
	_, err = other.SetACL(folder, zk.WorldACL(zk.PermAll), -1)
	if err := errors.Join(err, other.Delete(path, -1)); err != nil {
		t.Fatal(err)
	}
	makeNode(t, other, path, data, zk.FlagEphemeral)
	if _, err := s.Get(t.Context(), "a/b"); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("get of an ephemeral node: %v", err)
	}
	makeNode(t, other, "/vanishing", nil, zk.FlagEphemeral)
	c.Prefix = "/vanishing"
	if err := servertest.Refusal(t, zkstore.Open, c); err == nil || !strings.Contains(err.Error(), "persistent") {
		t.Errorf("open below an ephemeral node: %v", err)
	}
}

func removedPrefixIsDamageAndNotAbsence(t *testing.T, server *testkit.Server, c zkstore.Config) {
	s := open(t, c)
	if _, err := s.Get(t.Context(), "key"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get of a new store: %v", err)
	}
	if err := raw(t, server.Addr()).Delete(c.Prefix, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), "key"); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("get: %v", err)
	}
	if _, err := s.Swap(t.Context(), "key", "", nil); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("swap: %v", err)
	}
	if err := servertest.Listed(t.Context(), s, "", nil); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("list: %v", err)
	}
}

func foreignNodeInAFolderIsDamage(t *testing.T, server *testkit.Server, c zkstore.Config) {
	s := open(t, c)
	servertest.Swap(t, s, "key", "", "value")
	other := raw(t, server.Addr())
	path := find(t, other, c.Prefix, "key")
	folder := path[:strings.LastIndexByte(path, '/')]
	// Others may keep nodes of their own beside the folders.
	makeNode(t, other, c.Prefix+"/README", nil, zk.FlagPersistent)
	if err := servertest.Listed(t.Context(), s, "", nil); err != nil {
		t.Errorf("list beside a foreign node: %v", err)
	}
	makeNode(t, other, folder+"/README", nil, zk.FlagPersistent)
	if err := servertest.Listed(t.Context(), s, "", nil); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("list with a foreign node: %v", err)
	}
}

// find returns the path of the node of that name in one of the folders.
func find(t *testing.T, c *zk.Conn, prefix, name string) string {
	t.Helper()
	folders, _, err := c.Children(prefix)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		path := prefix + "/" + folder + "/" + name
		if there, _, err := c.Exists(path); err != nil {
			t.Fatal(err)
		} else if there {
			return path
		}
	}
	t.Fatalf("no node %s", name)
	return ""
}
