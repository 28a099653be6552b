package natsstore

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
)

// TestListYieldsEveryRegisterThatRestsOnceWhileOthersMove swaps half of the
// registers all the time that a list of several pages takes.
func TestListYieldsEveryRegisterThatRestsOnceWhileOthersMove(t *testing.T) {
	s, _ := opened(t)
	const registers = 4 * page
	versions := make([]store.Version, registers)
	key := func(i int) string { return fmt.Sprintf("r/%d/%06d", i%2, i) }
	for i := range versions {
		versions[i] = servertest.Swap(t, s, key(i), "", "first")
	}
	// The last thing that happened before must not confuse the count.
	servertest.Swap(t, s, "elsewhere", "", "")
	seen := map[string]int{}
	n, moved := 0, 1
	for e, err := range s.List(t.Context(), "r/") {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if strings.HasPrefix(e.Key, "r/0/") {
			if seen[e.Key]++; seen[e.Key] > 1 {
				t.Errorf("%s was listed %d times", e.Key, seen[e.Key])
			}
		}
		if n%2 == 0 {
			versions[moved] = servertest.Swap(t, s, key(moved), versions[moved], fmt.Sprint(n))
			moved = (moved + 2) % registers
		}
	}
	if len(seen) != registers/2 {
		t.Errorf("%d of %d registers that rested were listed", len(seen), registers/2)
	}
}

// TestListThatIsBrokenOffSaysSo cuts the connection in the middle: a list that
// just ended would pass for a whole one.
func TestListThatIsBrokenOffSaysSo(t *testing.T) {
	server := testkit.NATS(t)
	proxy := testkit.NewProxy(t, server.Addr())
	s := open(t, of(proxy.Addr()))
	const registers = 2*page + 1
	for i := range registers {
		servertest.Swap(t, s, fmt.Sprint(i), "", "")
	}
	n := 0
	var last error
	for _, err := range s.List(t.Context(), "") {
		if last = err; err != nil {
			break
		}
		if n++; n == page/2 {
			proxy.Cut()
		}
	}
	if last == nil || n == registers {
		t.Errorf("listed %d of %d registers, and then %v", n, registers, last)
	}
	proxy.Heal()
	n = 0
	if err := servertest.Listed(t.Context(), s, "", func(store.Entry) { n++ }); err != nil || n != registers {
		t.Errorf("listed again: %d of %d registers, %v", n, registers, err)
	}
}

func TestBucketDeniesWhatWouldLeaveNoMark(t *testing.T) {
	s, server := opened(t)
	js := raw(t, server.Addr())
	bucket, err := js.KeyValue(t.Context(), DefaultBucket)
	if err != nil {
		t.Fatal(err)
	}
	servertest.Swap(t, s, "put", "", "ours")
	if e, err := bucket.Get(t.Context(), "snowfence.put"); err != nil || string(e.Value()) != "ours" {
		t.Errorf("a key-value client reads %v, %v", e, err)
	}
	if err := bucket.Purge(t.Context(), "snowfence.put"); err == nil {
		t.Error("a register could be purged")
	}
	stream, err := js.Stream(t.Context(), s.config.stream())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context()); err == nil {
		t.Error("the bucket could be purged")
	}
	if err := stream.DeleteMsg(t.Context(), 1); err == nil {
		t.Error("a message could be deleted")
	}
}

func TestBucketThatHasToExistIsNotMade(t *testing.T) {
	// Whoever reads may not be allowed to make one.
	server := testkit.NATS(t, `accounts: { A: { jetstream: enabled, users: [ { user: u, password: p }, { user: reader, password: p,
		permissions: { publish: { deny: "$JS.API.STREAM.CREATE.>" } } } ] } }`)
	as := func(user string, existing bool) Config {
		return of(server.Addr(), func(c *Config) { c.User, c.Password, c.Existing = user, "p", existing })
	}
	js := raw(t, server.Addr(), nats.UserInfo("u", "p"))
	for _, user := range []string{"u", "reader"} {
		if _, err := Open(t.Context(), as(user, true)); !errors.Is(err, store.ErrNoStore) || !strings.Contains(err.Error(), DefaultBucket) {
			t.Errorf("%s: %v, want %v", user, err, store.ErrNoStore)
		}
	}
	for name := range js.StreamNames(t.Context()).Name() {
		t.Errorf("stream %s was made", name)
	}
	servertest.Swap(t, open(t, as("u", false)), "key", "", "value")
	s := open(t, as("reader", true))
	if e, err := s.Get(t.Context(), "key"); err != nil || string(e.Value) != "value" {
		t.Errorf("a bucket that exists: %+v, %v", e, err)
	}
	// One that goes is damage, as ever.
	if err := js.DeleteStream(t.Context(), s.config.stream()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), "key"); !errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrNoStore) {
		t.Errorf("a bucket that is gone: %v, want %v", err, store.ErrDamaged)
	}
}

func TestBucketThatWasMadeAnewIsNotTakenForTheOther(t *testing.T) {
	s, server := opened(t)
	version := servertest.Swap(t, s, "key", "", "value")
	js := raw(t, server.Addr())
	if err := js.DeleteStream(t.Context(), s.config.stream()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), "key"); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("get from a bucket that is gone: %v", err)
	}
	// Numbers begin again, and this one is the one that s knows.
	again := open(t, of(server.Addr()))
	servertest.Swap(t, again, "key", "", "other")
	if _, err := s.Swap(t.Context(), "key", version, nil); !errors.Is(err, store.ErrConflict) {
		t.Errorf("swap under a version of the former bucket: %v", err)
	}
	current(s).judged.Store(-int64(judgeEvery)) // as if half a minute had passed
	for range 2 {
		if _, err := s.Swap(t.Context(), "new", "", nil); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("swap once the new bucket was seen: %v", err)
		}
	}
	current(s).conn.Close()
	if _, err := s.Get(t.Context(), "key"); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("get over a new connection: %v", err)
	}
}

// TestRegisterThatTheServerCannotReadIsDamaged alters a byte of a register in
// the server's file. The server answers that there is no such message, and would
// let it be created anew.
func TestRegisterThatTheServerCannotReadIsDamaged(t *testing.T) {
	s, server := opened(t)
	servertest.Swap(t, s, "before", "", "a value")
	version := servertest.Swap(t, s, "key", "", "a value that suffers")
	servertest.Swap(t, s, "after", "", "another value")
	server.Stop()
	altered := 0
	err := filepath.WalkDir(folderOf(server), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if at := bytes.Index(content, []byte("suffers")); at >= 0 {
			altered++
			content[at] ^= 1
			err = os.WriteFile(path, content, 0o600)
		}
		return err
	})
	if err != nil || altered != 1 {
		t.Fatalf("%d files were altered: %v", altered, err)
	}
	server.Start()

	s = open(t, of(server.Addr()))
	if e, err := s.Get(t.Context(), "key"); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("get: %+v, %v, want ErrDamaged", e, err)
	}
	for _, prev := range []store.Version{"", version} {
		if _, err := s.Swap(t.Context(), "key", prev, nil); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("swap under %q: %v, want ErrDamaged", prev, err)
		}
	}
	for _, key := range []string{"before", "after"} {
		if _, err := s.Get(t.Context(), key); err != nil {
			t.Errorf("get %q: %v", key, err)
		}
	}
	if _, err := s.Get(t.Context(), "absent"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get of a register that was never made: %v", err)
	}
}
