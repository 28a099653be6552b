package main

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"snowfence.example/snowfence/daemon/token"
	"snowfence.example/snowfence/internal/testkit"
)

// TestHangupReadsTheFilesAgainAndEndsNothing replaces a certificate, a token and the log's level under a
// daemon, and sends SIGHUP. Then it breaks the configuration, which changes nothing.
func TestHangupReadsTheFilesAgainAndEndsNothing(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before, after := testkit.NewAuthority(t), testkit.NewAuthority(t)
	before.IssueTo(t, at("cert.pem"), at("key.pem"), "server", "127.0.0.1")
	line := func(secret string) string { return "team " + token.HashOf(secret).String() + "\n" }
	write("tokens", line("the-first-token-of-the-team"))
	settings := fmt.Sprintf("tls: {certificate: %s, key: %s}\ntoken-file: %s\ngenerators: {orders: {}}\n", at("cert.pem"), at("key.pem"), at("tokens"))
	write("snowfence.yaml", settings)
	d := testkit.StartDaemon(t, testkit.Build(t, programPath, ""), nil, "--config", at("snowfence.yaml"), "--thrift", "", "--data", folder)
	// mint says what becomes of a request over a new connection.
	mint := func(a *testkit.Authority, secret string) string {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.Pool()}}
		defer transport.CloseIdleConnections()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.URL+"/v1/generators/orders/ids", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+secret)
		answer, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Do(r)
		if err != nil {
			return "no certificate that is trusted"
		}
		_ = answer.Body.Close()
		return answer.Status
	}
	await := func(what string) {
		t.Helper()
		for !strings.Contains(d.Log(), what) {
			select {
			case <-d.Ended():
				t.Fatalf("ended:\n%s", d.Log())
			default:
				runtime.Gosched()
			}
		}
	}
	expect := func(a *testkit.Authority, secret, want string) {
		t.Helper()
		if got := mint(a, secret); got != want {
			t.Errorf("with %q: %s, want %s\n%s", secret, got, want, d.Log())
		}
	}
	const first, second, untrusted = "the-first-token-of-the-team", "the-second-token-of-the-team", "no certificate that is trusted"
	await("msg=serving")
	expect(before, first, "200 OK")
	expect(before, second, "401 Unauthorized")

	after.IssueTo(t, at("cert.pem"), at("key.pem"), "server", "127.0.0.1")
	write("tokens", line(second))
	write("snowfence.yaml", settings+"log: {level: debug}\nlimits: {batch: 5}\n")
	d.Signal(syscall.SIGHUP)
	await(`msg="asked by SIGHUP: the log's level is set, and the files of tokens and TLS are read again" level=DEBUG`)
	await(`msg="other settings changed, which takes a restart" keys=[limits.batch]`)
	await("audit: the files of TLS were read again")
	await("audit: the tokens were read again")
	expect(before, second, untrusted)
	expect(after, first, "401 Unauthorized")
	expect(after, second, "200 OK")

	write("snowfence.yaml", "generators: {orders: {windw: 3s}}\n")
	d.Signal(syscall.SIGHUP)
	await(`msg="the configuration can't be read again: everything stays as it was"`)
	expect(after, second, "200 OK")
	d.Signal(syscall.SIGTERM)
	if code := d.WaitEnded(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
