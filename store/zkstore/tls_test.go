package zkstore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store/zkstore"
)

func TestTLSNeedsTheRightCertificates(t *testing.T) {
	t.Parallel()
	ours, others := testkit.NewAuthority(t), testkit.NewAuthority(t)
	port := testkit.FreePort(t)
	testkit.ZooKeeper(t,
		"serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
		fmt.Sprintf("secureClientPort=%d", port), "secureClientPortAddress=127.0.0.1",
		"ssl.keyStore.type=PEM", "ssl.keyStore.location="+keyStore(t, ours),
		"ssl.trustStore.type=PEM", "ssl.trustStore.location="+ours.File,
		"ssl.hostnameVerification=false",
	)
	query := func(server, client *testkit.Authority) string {
		certificate, key := client.Issue(t, "client")
		return fmt.Sprintf("zookeeper://localhost:%d/secure?tls=true&ca=%s&cert=%s&key=%s&session-timeout=2s", port, server.File, certificate, key)
	}
	c, err := zkstore.ParseURL(query(ours, ours))
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, c)
	version := swap(t, s, "key", "", "value")
	if e, err := s.Get(t.Context(), "key"); err != nil || e.Version != version {
		t.Errorf("get: %+v, %v", e, err)
	}
	for name, u := range map[string]string{
		"a server of another authority": query(others, ours),
		"a client of another authority": query(ours, others),
		"no TLS":                        fmt.Sprintf("zookeeper://localhost:%d/secure", port),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait
			c, err := zkstore.ParseURL(u)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := zkstore.Open(ctx, c); err == nil {
				t.Error("a session is granted")
			}
		})
	}
}

// keyStore writes the server's key and certificate to one file, as ZooKeeper
// wants them, and returns it.
func keyStore(t *testing.T, authority *testkit.Authority) (path string) {
	t.Helper()
	certificate, key := authority.Issue(t, "server", "localhost", "127.0.0.1")
	var content []byte
	for _, file := range []string{key, certificate} {
		part, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		content = append(content, part...)
	}
	path = filepath.Join(t.TempDir(), "server.pem")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
