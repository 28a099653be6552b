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
	page, err := os.ReadFile("../../docs/exposing.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "\n```yaml\n")
	config, _, found := strings.Cut(rest, "\n```\n")
	if !found {
		t.Fatal("docs/exposing.md has no configuration")
	}
	folder, binary := t.TempDir(), testkit.Build(t, programPath, "")
	servers, clients := testkit.NewAuthority(t), testkit.NewAuthority(t)
	servers.IssueTo(t, filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem"), "snowfence", "127.0.0.1")
	authority, err := os.ReadFile(clients.File)
	if err != nil {
		t.Fatal(err)
	}
	token, line := newToken(t, binary, "billing", "--generators", "orders", "--rate", "20000")
	scraper, second := newToken(t, binary, "prometheus", "--generators", "-")
	config = strings.ReplaceAll(config, "/etc/snowfence", folder)
	file := filepath.Join(folder, "ids.yaml")
	for name, text := range map[string]string{
		filepath.Join(folder, "clients.pem"): string(authority),
		filepath.Join(folder, "tokens"):      line + "\n" + second + "\n",
		file:                                 config,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), binary, "config", "check", "--config", file).CombinedOutput(); err != nil {
		t.Fatalf("config check: %s, %v", out, err)
	}
	d := testkit.StartDaemon(t, binary, []string{"SNOWFENCE_ADMIN=127.0.0.1:0"}, "--config", file, "--data", t.TempDir())
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
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := client.Do(r)
		if err != nil {
			return 0
		}
		_ = answer.Body.Close()
		return answer.StatusCode
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
	_, another := newToken(t, binary, "another")
	if err := os.WriteFile(filepath.Join(folder, "tokens"), []byte("# not billing\n"+second+"\n"+another+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, func(context.Context) error {
		known.CloseIdleConnections() // the next request is of a new connection
		if got := status(known, token, d.URL+"/v1/generators/orders/ids"); got != http.StatusUnauthorized {
			return fmt.Errorf("a token that was taken out gets %d", got)
		}
		for _, line := range []string{`"audit: the files of TLS were read again"`, `"audit: the tokens were read again" file=` + folder + `/tokens added=[another] removed="[billing generators=orders rate=20000]"`} {
			if !strings.Contains(d.Log(), line) {
				return fmt.Errorf("the log lacks %s:\n%s", line, d.Log())
			}
		}
		return nil
	})
	if strings.Contains(d.Log(), token) {
		t.Error("the log has the token")
	}
}

// newToken returns what "snowfence token" prints: a token, and the line that grants it.
func newToken(t *testing.T, binary string, arguments ...string) (token, line string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary, append([]string{"token"}, arguments...)...).Output()
	_, words, _ := strings.Cut(string(out), "token for the client: ")
	token, line, found := strings.Cut(words, "\nline for token-file:  ")
	if err != nil || !found {
		t.Fatalf("snowfence token: %s, %v", out, err)
	}
	return token, line
}
