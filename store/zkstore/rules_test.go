package zkstore_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/zkstore"
)

// Snapshot is missing: ZooKeeper compares a number that a rollback takes back,
// as the package's comment explains.
func TestZooKeeperKeepsEveryRule(t *testing.T) {
	// The first request of a session is number 1.
	header := func(kind uint32, rest ...uint32) string { return packet(append([]uint32{kind, 0, 1, 0}, rest...)...) }
	servertest.Run(t, servertest.Engine{
		Name:  "zookeeper",
		Start: func(t testing.TB) *testkit.Server { return testkit.ZooKeeper(t) },
		Open:  opener(false), OpenExisting: opener(true),
		URL:      urlOf,
		Prepare:  func(t *testing.T, server *testkit.Server, prefix string) { makeFolders(t, server.Addr(), "/"+prefix) },
		Apart:    []servertest.Place{{}, {Prefix: "a"}, {Prefix: "a/b"}, {Prefix: "a/b/c-d_e.f"}, {Prefix: "ab"}},
		Ensemble: true,
		Damage: map[string]func(*testing.T, *testkit.Server, string, string){
			"foreign":         put("mine"),
			"empty":           put(""),
			"without version": put("snowfence 1 value"),
			"newer":           put("snowfence 2 0123456789abcdef0123456789abcdef\nvalue"),
			"too long":        put("snowfence 1 0123456789abcdef0123456789abcdef\n" + strings.Repeat("x", 4097)),
		},
		Spoiled: store.ErrConflict, // the node's number is another one
		// Whoever makes a store owns it.
		Login: func(t *testing.T) (*testkit.Server, servertest.Place, map[string]servertest.Place) {
			return testkit.ZooKeeper(t), servertest.Place{User: "snowfence", Password: "secret:with colon"}, map[string]servertest.Place{
				"a stranger": {User: "snowfence", Password: "hunter2"},
				"anyone":     {},
			}
		},
		TLS: startTLS,
		Traits: map[string]store.Traits{
			"":        {Engine: "zookeeper", Durable: true},
			"loss=1s": {Engine: "zookeeper", Loss: time.Second},
		},
		Members: true,
		Hostile: testkit.Hostile{Persists: true, Answers: []testkit.Answer{
			{Bytes: "HTTP/1.1 400 Bad Request\r\n\r\n", Wrong: "a packet of 1213486160 bytes"},
			{Bytes: "\x15\x03\x03\x00\x02\x02\x46", Wrong: "is it a ZooKeeper server?"},
			{Bytes: "\x7f\xff\xff\xff", Wrong: "a packet of 2147483647 bytes"},
			{Bytes: "\xff\xff\xff\xff", Wrong: "a packet of 4294967295 bytes"},
			{Bytes: packet(), Wrong: "a packet of 0 bytes"},
			{Bytes: packet(1), Wrong: "a packet of 4 bytes"},
			{Bytes: packet(1<<32-1, 0, 0, 0)},
			{Bytes: packet(0, 4000, 0, 7, 1<<31-1, 0, 0, 0, 0)}, // a password of 2 GiB, where it comes first
			{Bytes: packet(0, 0, 0, 7, 16, 0, 0, 0, 0)},
			{Bytes: packet(0, 1<<31, 0, 7, 16, 0, 0, 0, 0)},
			{Bytes: header(1, 1<<31-1)}, {Bytes: header(2, 1<<31-1)}, {Bytes: header(3, 1<<31-1)}, {Bytes: header(4, 1<<31-1)},
			{Bytes: header(1, 1<<32-1)}, {Bytes: header(2, 1<<32-2)}, {Bytes: header(3, 1<<31)}, {Bytes: header(5, 1<<32-1)},
			{Bytes: header(1)}, {Bytes: header(1<<32 - 2)}, {Bytes: header(1<<32 - 5)}, {Bytes: header(1) + header(1) + header(1)},
			{Bytes: strings.Repeat(header(1<<32-1, 0, 0, 0), 1000)},
		}},
		URLs: urls(),
	})
}

// packet is one as ZooKeeper sends it: its length, and numbers of 32 bits.
func packet(numbers ...uint32) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(4*len(numbers)))
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	return string(b)
}

func FuzzParseURL(f *testing.F) {
	servertest.FuzzURLs(f, zkstore.ParseURL, "zookeeper://a", "zookeeper://me:pw@a:1,b:2/c/d?loss=1s", "zookeeper://[::1]:2181/?user=x",
		"zookeeper://@/?", "zookeeper://%@a")
}

func FuzzPackets(f *testing.F) {
	const get, children = 4, 12
	servertest.FuzzAnswers(f, []string{packet(0, 4000, 0, 7, 16, 0, 0, 0, 0), packet(1, 0, 1, 0, 1<<31-1)},
		zkstore.Frames(0), zkstore.Frames(get), zkstore.Frames(children))
}

// The meaning of a length decides whether it fits.
func TestLengthsInPacketsOfZooKeeperFit(t *testing.T) {
	const get, children, set = 4, 12, 5
	for _, test := range []struct {
		name   string
		kind   uint32
		answer []uint32 // number, zxid, error, and more
		wrong  string
	}{
		{"a password of 2 GiB", 0, []uint32{0, 4000, 0, 7, 1<<31 - 1, 0, 0, 0, 0}, "a password with a length of 2147483647 in a packet of 36 bytes"},
		{"data of 2 GiB", get, []uint32{1, 0, 1, 0, 1<<31 - 1, 0}, "data with a length of 2147483647"},
		{"data that just fits", get, []uint32{1, 0, 1, 0, 4, 0}, ""},
		{"no data", get, []uint32{1, 0, 1, 0, 1<<32 - 1}, ""},
		{"a list of four billion", children, []uint32{1, 0, 1, 0, 1<<32 - 1}, "a list of names with a length of 4294967295"},
		{"two names where one fits", children, []uint32{1, 0, 1, 0, 2, 1, 0x61000000}, "a list of names with a length of 2"},
		{"one name", children, []uint32{1, 0, 1, 0, 1, 1, 0x61000000}, ""},
		{"an error", children, []uint32{1, 0, 1, 1<<32 - 101, 1<<32 - 1}, ""},
		{"a large zxid", set, []uint32{1, 0, 1, 0, 1<<31 - 1, 0}, ""},
		{"another request's", children, []uint32{2, 0, 1, 0, 1<<32 - 1}, ""},
	} {
		err := zkstore.Frames(test.kind)().Take([]byte(packet(test.answer...)))
		if test.wrong == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%s: %v; want %q", test.name, err, test.wrong)
		}
	}
}

// opener opens with the tests' session timeout.
func opener(existing bool) func(context.Context, string) (store.Store, error) {
	return servertest.Opener(func(ctx context.Context, url string) (*zkstore.Store, error) {
		c, err := zkstore.ParseURL(url)
		if err != nil {
			return nil, err
		}
		c.Existing, c.SessionTimeout = existing, sessionTimeout
		return zkstore.Open(ctx, c)
	})
}

func urlOf(p servertest.Place) string {
	u := url.URL{Scheme: "zookeeper", Host: strings.Join(p.Addresses, ","), Path: "/" + p.Prefix}
	if p.User != "" {
		u.User = url.UserPassword(p.User, p.Password)
	}
	u.RawQuery = p.Query
	return u.String()
}

// put changes the node of a register.
func put(data string) func(*testing.T, *testkit.Server, string, string) {
	return func(t *testing.T, server *testkit.Server, prefix, key string) {
		other := raw(t, server.Addr())
		if _, err := other.Set(find(t, other, "/"+prefix, key), []byte(data), -1); err != nil {
			t.Fatal(err)
		}
	}
}

// startTLS starts a server that has its key and its certificate in one file.
func startTLS(t *testing.T, authority, certificate, key string) string {
	t.Helper()
	var content []byte
	for _, file := range []string{key, certificate} {
		part, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		content = append(content, part...)
	}
	path, port := filepath.Join(t.TempDir(), "server.pem"), testkit.FreePort(t)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	testkit.ZooKeeper(t,
		"serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
		fmt.Sprintf("secureClientPort=%d", port), "secureClientPortAddress=127.0.0.1",
		"ssl.keyStore.type=PEM", "ssl.keyStore.location="+path, "ssl.trustStore.type=PEM", "ssl.trustStore.location="+authority,
		"ssl.hostnameVerification=false",
	)
	return fmt.Sprintf("127.0.0.1:%d", port)
}

func urls() servertest.URLs {
	return servertest.URLs{
		Parse: servertest.Parser(zkstore.ParseURL),
		Meaning: map[string]servertest.Config{
			"zookeeper://zk":                  zkstore.Config{Endpoints: []string{"zk:2181"}},
			"zookeeper://a:1,b,[::1],[::2]:3": zkstore.Config{Endpoints: []string{"a:1", "b:2181", "[::1]:2181", "[::2]:3"}},
			"zookeeper://me:p%40s%3As@a/x/y.z-1": zkstore.Config{
				Endpoints: []string{"a:2181"}, User: "me", Password: "p@s:s", Prefix: "/x/y.z-1"},
			"zookeeper://a?user=me&password-file=/run/pw&loss=1s": zkstore.Config{
				Endpoints: []string{"a:2181"}, User: "me", PasswordFile: "/run/pw", Loss: time.Second},
			"zookeeper://a/b?tls=false": zkstore.Config{Endpoints: []string{"a:2181"}, Prefix: "/b"},
			"zookeeper://a?tls=true":    zkstore.Config{Endpoints: []string{"a:2181"}, TLS: &zkstore.TLS{}},
		},
		Bad: map[string]string{
			"zookeeper://:hunter2@a":                    "needs a user",
			"zookeeper://a?password-file=/x":            "needs a user",
			"zookeeper://m%3Ae:hunter2@a":               "colon",
			"zookeeper://a/b//c":                        "empty",
			"zookeeper://a/b/":                          "empty",
			"zookeeper://a/b/../c":                      "empty",
			"zookeeper://a/zookeeper":                   "ZooKeeper's own",
			"zookeeper://a/b%20c":                       "must be one of",
			"zookeeper://a/" + strings.Repeat("x", 128): "at most 128",
			"zookeeper://a?colour=red":                  "colour",
		},
	}
}
