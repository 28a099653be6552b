package main

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"path/filepath"
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
	before, after := testkit.NewAuthority(t), testkit.NewAuthority(t)
	before.IssueTo(t, at("cert.pem"), at("key.pem"), "server", "127.0.0.1")
	line := func(secret string) string { return "team " + token.HashOf(secret).String() + "\n" }
	write(t, at("tokens"), line("the-first-token-of-the-team"))
	settings := fmt.Sprintf("tls: {certificate: %s, key: %s}\ntoken-file: %s\ngenerators: {orders: {}}\n", at("cert.pem"), at("key.pem"), at("tokens"))
	write(t, at("snowfence.yaml"), settings)
	d := startDaemon(t, "--config", at("snowfence.yaml"), "--thrift", "", "--data", folder)
	// mint returns the status of a request over a new connection, or 0 if the certificate is not trusted.
	mint := func(a *testkit.Authority, secret string) int {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.Pool()}}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport, Timeout: time.Minute}
		answer, err := askBy(t.Context(), client, http.MethodPost, d.URL+"/v1/generators/orders/ids", "Authorization", "Bearer "+secret)
		if err != nil {
			return 0
		}
		return answer.status
	}
	expect := func(a *testkit.Authority, secret string, want int) {
		t.Helper()
		if got := mint(a, secret); got != want {
			t.Errorf("with %q: %d, want %d\n%s", secret, got, want, d.Log())
		}
	}
	const first, second, untrusted = "the-first-token-of-the-team", "the-second-token-of-the-team", 0
	awaitLine(t, d, "msg=serving")
	expect(before, first, http.StatusOK)
	expect(before, second, http.StatusUnauthorized)

	after.IssueTo(t, at("cert.pem"), at("key.pem"), "server", "127.0.0.1")
	write(t, at("tokens"), line(second))
	write(t, at("snowfence.yaml"), settings+"log: {level: debug}\nlimits: {batch: 5}\n")
	d.Signal(syscall.SIGHUP)
	awaitLine(t, d, `msg="asked by SIGHUP: the log's level is set, and the files of tokens and TLS are read again" level=DEBUG`)
	awaitLine(t, d, `msg="other settings changed, which takes a restart" keys=[limits.batch]`)
	awaitLine(t, d, "audit: the files of TLS were read again")
	awaitLine(t, d, "audit: the tokens were read again")
	expect(before, second, untrusted)
	expect(after, first, http.StatusUnauthorized)
	expect(after, second, http.StatusOK)

	write(t, at("snowfence.yaml"), "generators: {orders: {windw: 3s}}\n")
	d.Signal(syscall.SIGHUP)
	awaitLine(t, d, `msg="the configuration can't be read again: everything stays as it was"`)
	expect(after, second, http.StatusOK)
	ended(t, d)
}
