package openstore

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/internal/testkit"
)

func errorsHideThePassword(t *testing.T, s sqlServer, server *testkit.Server) {
	const secret = "s3cret/word"
	gone := fmt.Sprintf("127.0.0.1:%d", testkit.FreePort(t))
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, u := range []string{
		s.scheme + "://me:" + url.PathEscape(secret) + "@" + server.Addr() + "/snowfence",
		s.scheme + "://me:" + url.PathEscape(secret) + "@" + gone + "/snowfence",
		s.scheme + "://me:" + url.PathEscape(secret) + "@" + server.Addr() + "/absent",
		s.scheme + "://me:" + url.PathEscape(secret) + "@" + server.Addr() + "/snowfence?tls=true",
		s.scheme + "://me:" + url.PathEscape(secret) + "@nowhere.invalid/snowfence",
		s.scheme + "://me@" + server.Addr() + "/snowfence?password-file=" + file,
	} {
		client, err := Open(t.Context(), u)
		if err == nil {
			_ = client.Close()
			t.Errorf("%s: is opened", engine.Redact(u))
			continue
		}
		if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, "s3cret") {
			t.Errorf("%s: the error shows the password: %s", engine.Redact(u), err)
		}
	}
}

func passwordFileIsReadAtEveryConnection(t *testing.T, s sqlServer, server *testkit.Server) {
	file := filepath.Join(t.TempDir(), "password")
	write := func(password string) {
		if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(testkit.SQLPassword)
	client := s.client(t, s.scheme+"://"+testkit.SQLUser+"@"+server.Addr()+"/snowfence?table=password&password-file="+file)
	set := "ALTER USER snowfence PASSWORD 'another'"
	if s.scheme == "mysql" {
		set = "ALTER USER snowfence IDENTIFIED BY 'another'"
	}
	do(t, s.administer(t, server), set)
	write("another")
	server.Kill()
	server.Start()
	testkit.Eventually(t, patience, func(ctx context.Context) error {
		_, err := client.Swap(ctx, "register", "", nil)
		return err
	})
}

func connectionsAreSecured(t *testing.T, s sqlServer, server *testkit.Server) {
	s.refusedTLS(t, server, "tls=true") // not offered yet
	server.Stop()
	ca := server.Certify()
	server.Start()
	s.refusedTLS(t, server, "tls=true") // not trusted
	client := s.client(t, s.url("tls=true&ca="+ca, server.Addr()))
	if _, err := client.Swap(t.Context(), "register", "", []byte("secret")); err != nil {
		t.Fatal(err)
	}
	s.refusedTLS(t, server, "tls=true&ca="+ca, "localhost") // another name than the certificate's
	query := "SELECT COUNT(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ssl AND application_name = 'snowfence'"
	if s.scheme == "mysql" {
		query = "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'ssl_finished_accepts'"
	}
	var secured int
	if err := s.administer(t, server).QueryRowContext(t.Context(), query).Scan(&secured); err != nil || secured == 0 {
		t.Errorf("%d connections over TLS (%v)", secured, err)
	}
}

// refusedTLS wants that nothing is opened.
func (s sqlServer) refusedTLS(t *testing.T, server *testkit.Server, query string, host ...string) {
	t.Helper()
	address := server.Addr()
	if len(host) > 0 {
		address = net.JoinHostPort(host[0], fmt.Sprint(server.Ports[0]))
	}
	client, err := Open(t.Context(), s.url(query, address))
	if err == nil {
		_ = client.Close()
		t.Errorf("%s at %s: is opened", query, address)
	}
}
