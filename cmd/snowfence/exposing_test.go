//go:build servers

package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
)

// TestConfigurationOfExposingHoldsWhatItsPageSays runs the configuration of docs/exposing.md. Only
// its addresses and folders are others.
func TestConfigurationOfExposingHoldsWhatItsPageSays(t *testing.T) {
	t.Parallel()
	config := block(t, "exposing.md", "yaml\n")
	folder := t.TempDir()
	servers, clients := testkit.NewAuthority(t), testkit.NewAuthority(t)
	servers.IssueTo(t, filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem"), "snowfence", "127.0.0.1")
	authority, err := os.ReadFile(clients.File)
	if err != nil {
		t.Fatal(err)
	}
	token, line := newToken(t, "billing", "--generators", "orders", "--rate", "20000")
	scraper, second := newToken(t, "prometheus", "--generators", "-")
	config = strings.ReplaceAll(config, "/etc/snowfence", folder)
	file := filepath.Join(folder, "ids.yaml")
	for name, text := range map[string]string{
		filepath.Join(folder, "clients.pem"): string(authority),
		filepath.Join(folder, "tokens"):      line + "\n" + second + "\n",
		file:                                 config,
	} {
		write(t, name, text)
	}
	output(t, exec.CommandContext(t.Context(), executable(t, ""), "config", "check", "--config", file))
	d := testkit.StartDaemon(t, executable(t, ""), []string{"SNOWFENCE_ADMIN=127.0.0.1:0"}, "--config", file, "--data", t.TempDir())
	d.WaitReady()
	admin := "https://" + d.Address("https") // the last one listed

	certificate, key := clients.Issue(t, "client")
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	known := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: servers.Pool(), Certificates: []tls.Certificate{pair}}}}
	unknown := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: servers.Pool()}}}
	defer known.CloseIdleConnections()
	status := func(client *http.Client, token, url string) int {
		answer, err := askBy(t.Context(), client, http.MethodGet, url, "Authorization", "Bearer "+token)
		if err != nil {
			return 0
		}
		return answer.status
	}
	for _, c := range []struct {
		client *http.Client
		token  string
		url    string
		want   int
	}{
		{known, token, d.URL + "/v1/generators/orders/ids", http.StatusOK},
		{known, "not-" + token, d.URL + "/v1/generators/orders/ids", http.StatusUnauthorized},
		{known, token, d.URL + "/v1/generators/invoices/ids", http.StatusForbidden},
		{unknown, token, d.URL + "/v1/generators/orders/ids", 0},
		{known, token, d.URL + "/metrics", http.StatusNotFound},
		{known, token, admin + "/metrics", http.StatusForbidden},
		{known, scraper, admin + "/metrics", http.StatusOK},
		{known, scraper, d.URL + "/v1/generators/orders/ids", http.StatusForbidden},
		{known, "", admin + "/metrics", http.StatusUnauthorized},
		{known, "", admin + "/livez", http.StatusOK},
		{known, token, admin + "/v1/generators/orders/ids", http.StatusNotFound},
		{known, token, d.URL + "/tinyid/id/nextIdSimple?bizType=orders&token=" + token, http.StatusOK},
		{known, token, d.URL + "/v1/generators/orders/ids?count=10000", http.StatusOK},
	} {
		if got := status(c.client, c.token, c.url); got != c.want {
			t.Errorf("%s with token %.8s…: %d, want %d", c.url, c.token, got, c.want)
		}
	}
	servers.IssueTo(t, filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem"), "renewed", "127.0.0.1")
	_, another := newToken(t, "another")
	write(t, filepath.Join(folder, "tokens"), "# not billing\n"+second+"\n"+another+"\n")
	testkit.Eventually(t, func(context.Context) error {
		known.CloseIdleConnections() // the next request is of a new connection
		if got := status(known, token, d.URL+"/v1/generators/orders/ids"); got != http.StatusUnauthorized {
			return fmt.Errorf("a token that was taken out gets %d", got)
		}
		return nil
	})
	awaitLine(t, d, `"audit: the files of TLS were read again"`)
	awaitLine(t, d, `"audit: the tokens were read again" file=`+folder+`/tokens added=[another] removed="[billing generators=orders rate=20000]"`)
	if strings.Contains(d.Log(), token) {
		t.Error("the log has the token")
	}
}

// newToken returns the output of "snowfence token": a token, and the line that grants it.
func newToken(t *testing.T, arguments ...string) (token, line string) {
	t.Helper()
	out := output(t, exec.CommandContext(t.Context(), executable(t, ""), append([]string{"token"}, arguments...)...))
	_, words, _ := strings.Cut(out, "token for the client: ")
	token, line, found := strings.Cut(words, "\nline for token-file:  ")
	if !found {
		t.Fatalf("snowfence token: %s", out)
	}
	return token, line
}
