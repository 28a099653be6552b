package zkstore

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

const someToken = "0123456789abcdef0123456789abcdef"

func TestVersionGuardsOneRegisterOnly(t *testing.T) {
	g := guard{number: 7, key: keySum("key"), token: someToken}
	if got, ok := parseGuard(g.version(), "key"); !ok || got != g {
		t.Errorf("parsed %+v, %v, want %+v", got, ok, g)
	}
	if _, ok := parseGuard(g.version(), "other"); ok {
		t.Error("a version of one key is one of another")
	}
	for _, text := range []string{
		"", "7", "7.", "..", "7.%s", "-1.%s." + someToken, "+7.%s." + someToken, "07.%s." + someToken,
		"2147483648.%s." + someToken, "7.%s." + someToken + "0", "7.%s." + strings.ToUpper(someToken), "7.%s." + someToken + ".",
	} {
		if strings.Contains(text, "%s") {
			text = fmt.Sprintf(text, keySum("key"))
		}
		if got, ok := parseGuard(store.Version(text), "key"); ok {
			t.Errorf("%q is taken for %+v", text, got)
		}
	}
}

func TestSwapIsRefusedBeforeTheNumberWraps(t *testing.T) {
	last := guard{number: math.MaxInt32, key: keySum("key"), token: someToken}
	g, ok := parseGuard(last.version(), "key")
	if !ok {
		t.Fatal("the last version is invalid")
	}
	if err := g.next(); !errors.Is(err, errExhausted) || errors.Is(err, store.ErrConflict) {
		t.Errorf("the swap after the last: %v", err)
	}
	g.number--
	if err := g.next(); err != nil {
		t.Errorf("the last swap: %v", err)
	}
	// Swap asks before anything is sent: this store has no connection.
	s := &Store{session: &session{life: storeclient.Begin()}}
	if _, err := s.Swap(t.Context(), "key", last.version(), nil); !errors.Is(err, errExhausted) {
		t.Errorf("swap: %v", err)
	}
	if _, err := decode("key", encode(someToken, nil), &zk.Stat{Version: math.MinInt32}); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("a node that was changed too often: %v", err)
	}
}

func TestAMillionNamesFitIntoTheirReplies(t *testing.T) {
	t.Parallel() // it takes a while
	// The longest keys make the longest replies. ZooKeeper sends the length of
	// each name in four bytes before it.
	const jute = 1<<20 - 1
	filler := strings.Repeat("x", store.MaxKey-len("/0000000"))
	for _, key := range []func(int) string{
		func(n int) string { return fmt.Sprintf("%s/%07d", filler, n) },
		func(n int) string { return fmt.Sprintf("%07d/%s", n*7919, filler) },
	} {
		sizes := make(map[string]int)
		for n := range 1_000_000 {
			sizes[folderName(key(n))] += 4 + store.MaxKey
		}
		if len(sizes) != 256 {
			t.Errorf("%d folders, want 256", len(sizes))
		}
		for folder, size := range sizes {
			if size > jute*9/10 {
				t.Errorf("the names in folder %s take %d bytes, near %d", folder, size, jute)
			}
		}
	}
}

func TestFoldersAreToldFromOtherNodes(t *testing.T) {
	for name, want := range map[string]bool{"00": true, "a7": true, "ff": true, "": false, "0": false, "FF": false, "fff": false, "zk": false} {
		if isFolder(name) != want {
			t.Errorf("isFolder(%q) = %v", name, !want)
		}
	}
}

func FuzzNames(f *testing.F) {
	for _, key := range []string{".", "..", "...", "/", "//", "a/b", "a:b", "!", "!!", "-", "_", "0/../1", "a.b/", "A"} {
		f.Add(key, key)
	}
	f.Fuzz(func(t *testing.T, key, other string) {
		if _, ok := keyOf("00", other); ok && store.ValidateKey(other) != nil && !strings.ContainsAny(other, ":!") {
			t.Errorf("%q is the name of a key's node", other)
		}
		if store.ValidateKey(key) != nil {
			return
		}
		name := nodeName(key)
		if name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
			t.Errorf("%q has node %q", key, name)
		}
		if back, ok := keyOf(folderName(key), name); !ok || back != key {
			t.Errorf("%q has node %q, which is %q's, %v", key, name, back, ok)
		}
		if store.ValidateKey(other) == nil && other != key && nodeName(other) == name {
			t.Errorf("%q and %q share a node", key, other)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(encode(someToken, []byte("value")))
	f.Add(encode(someToken[1:], nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := decode("key", data, &zk.Stat{Version: 3})
		if err != nil {
			if !errors.Is(err, store.ErrDamaged) {
				t.Errorf("%q: %v", data, err)
			}
			return
		}
		g, ok := parseGuard(e.Version, "key")
		if !ok || string(encode(g.token, e.Value)) != string(data) {
			t.Errorf("%q is read as %q at %q", data, e.Value, e.Version)
		}
	})
}
