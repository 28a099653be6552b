package zkstore_test

import (
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

// There is no Snapshot: ZooKeeper compares a number that a rollback takes back,
// as the package's comment says.
func TestZooKeeperKeepsEveryRule(t *testing.T) {
	servertest.Run(t, servertest.Engine{
		Name:     "zookeeper",
		Start:    func(t testing.TB) *testkit.Server { return testkit.ZooKeeper(t) },
		Open:     servertest.Opener(zkstore.OpenURL),
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
		URLs: urls(),
	})
}

func urlOf(p servertest.Place) string {
	u := url.URL{Scheme: "zookeeper", Host: strings.Join(p.Addresses, ","), Path: "/" + p.Prefix}
	if p.User != "" {
		u.User = url.UserPassword(p.User, p.Password)
	}
	u.RawQuery = strings.Trim(p.Query+"&session-timeout="+sessionTimeout.String(), "&")
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
			"zookeeper://zk/":                 zkstore.Config{Endpoints: []string{"zk:2181"}},
			"zookeeper://a:1,b,[::1],[::2]:3": zkstore.Config{Endpoints: []string{"a:1", "b:2181", "[::1]:2181", "[::2]:3"}},
			"zookeeper://me:p%40s%3As@a/x/y.z-1": zkstore.Config{
				Endpoints: []string{"a:2181"}, User: "me", Password: "p@s:s", Prefix: "/x/y.z-1"},
			"zookeeper://a?user=me&password-file=/run/pw&acl=creator-read&session-timeout=6s&loss=1s": zkstore.Config{
				Endpoints: []string{"a:2181"}, User: "me", PasswordFile: "/run/pw",
				ACL: zkstore.ACLCreatorRead, SessionTimeout: 6 * time.Second, Loss: time.Second},
			"zookeeper://a/b?tls=false": zkstore.Config{Endpoints: []string{"a:2181"}, Prefix: "/b"},
			"zookeeper://a?tls=true":    zkstore.Config{Endpoints: []string{"a:2181"}, TLS: &zkstore.TLS{}},
		},
		Bad: map[string]string{
			"zk://a/b":                                  "zookeeper://",
			"zookeeper://:hunter2@a":                    "needs a user",
			"zookeeper://a?password-file=/x":            "needs a user",
			"zookeeper://m%3Ae:hunter2@a":               "colon",
			"zookeeper://a/b//c":                        "empty",
			"zookeeper://a/b/":                          "empty",
			"zookeeper://a/b/../c":                      "empty",
			"zookeeper://a/zookeeper":                   "ZooKeeper's own",
			"zookeeper://a/b%20c":                       "must be one of",
			"zookeeper://a/" + strings.Repeat("x", 128): "at most 128",
			"zookeeper://a?acl=creator":                 "needs a user",
			"zookeeper://a?acl=everybody":               "acl",
			"zookeeper://a?loss=0":                      "loss",
			"zookeeper://a?session-timeout=1ms":         "session-timeout",
			"zookeeper://a?session-timeout=soon":        "session-timeout",
			"zookeeper://a?ca=/x":                       "tls=true",
			"zookeeper://a?tls=true&cert=/x":            "both or neither",
			"zookeeper://a?colour=red":                  "colour",
		},
	}
}
