package daemon

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"snowfence.example/snowfence/daemon/token"
	"snowfence.example/snowfence/internal/testkit"
)

// TestTLSAndTokenGuardTheFront runs a daemon that others than this host could
// reach, if it listened on their address.
func TestTLSAndTokenGuardTheFront(t *testing.T) {
	d, authority := tokened(t, func(*Settings) {})
	client := &http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: authority.Pool(), MinVersion: tls.VersionTLS12},
	}}
	defer client.CloseIdleConnections()
	for _, c := range []struct {
		path, token string
		status      int
	}{
		{"/v1/generators/default/ids", rightToken, http.StatusOK},
		{"/v1/generators/default/ids", "wrong", http.StatusUnauthorized},
		{"/livez", "wrong", http.StatusOK},
	} {
		if status, version, _ := get(t, client, "https://"+d.address+c.path, c.token); status != c.status || version != 2 {
			t.Errorf("%s with %q: %d over HTTP/%d, want %d over HTTP/2", c.path, c.token, status, version, c.status)
		}
	}
}

const rightToken = "Correct-horse-battery"

// tokened starts a daemon with TLS and a token, and returns the authority of its certificate.
func tokened(t *testing.T, set func(*Settings)) (*running, *testkit.Authority) {
	t.Helper()
	folder, authority := t.TempDir(), testkit.NewAuthority(t)
	s := settings(folder, nil)
	s.Thrift = "" // it has no tokens
	s.TLS.Certificate, s.TLS.Key, s.TokenFile = filepath.Join(folder, "c.pem"), filepath.Join(folder, "k.pem"), filepath.Join(folder, "token")
	authority.IssueTo(t, s.TLS.Certificate, s.TLS.Key, "daemon", "127.0.0.1")
	if err := os.WriteFile(s.TokenFile, []byte("all "+token.HashOf(rightToken).String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	set(&s)
	return start(t, s).ready(), authority
}

// get makes a request with a token. The version is that of HTTP.
func get(t *testing.T, client *http.Client, url, token string) (status, version int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.ProtoMajor, string(text)
}

// TestHealthListenerAnswersProbesAlone has an address that other hosts reach, beside fronts with TLS and a token.
func TestHealthListenerAnswersProbesAlone(t *testing.T) {
	d, _ := tokened(t, func(s *Settings) { s.Health = "0.0.0.0:0" })
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(d.urls["health"], "http://"))
	for path, status := range map[string]int{
		"/livez":                     http.StatusOK,
		"/readyz":                    http.StatusOK,
		"/readyz/default":            http.StatusUnauthorized,
		"/openapi.yaml":              http.StatusNotFound,
		"/metrics":                   http.StatusNotFound,
		"/cache":                     http.StatusNotFound,
		"/v1/generators":             http.StatusNotFound,
		"/v1/generators/default/ids": http.StatusNotFound,
		"/tinyid/id/nextId":          http.StatusNotFound,
		"/api/snowflake/get/default": http.StatusNotFound,
	} {
		got, _, body := get(t, http.DefaultClient, "http://127.0.0.1:"+port+path, rightToken) // a token by plain HTTP opens nothing
		if got != status || strings.Contains(body, `"default"`) {
			t.Errorf("%s: %d %s, want %d without names", path, got, body, status)
		}
	}
	if strings.Contains(d.log.String(), "other hosts can reach") {
		t.Errorf("warns of probes:\n%s", d.log)
	}
}

func TestAdminListenerTakesMetricsAndThePageFromTheHTTPFront(t *testing.T) {
	s := settings(t.TempDir(), nil)
	s.Admin = "127.0.0.1:0"
	d := start(t, s).ready()
	admin := d.urls["admin"]
	for url, status := range map[string]int{
		"http://" + d.address + "/metrics":                   http.StatusNotFound,
		"http://" + d.address + "/v1/generators/default/ids": http.StatusOK,
		"http://" + d.address + "/livez":                     http.StatusOK,
		"http://" + d.address + "/":                          http.StatusNotFound,
		"http://" + d.address + "/ui/state":                  http.StatusNotFound,
		admin + "/ui/state":                                  http.StatusOK,
		<-d.page:                                             http.StatusOK,
		admin + "/metrics":                                   http.StatusOK,
		admin + "/livez":                                     http.StatusOK,
		admin + "/v1/generators/default/ids":                 http.StatusNotFound,
	} {
		if got, _, _ := get(t, http.DefaultClient, url, ""); got != status {
			t.Errorf("%s: %d, want %d", url, got, status)
		}
	}
}

func TestPageIsOnTheHTTPFrontWithoutAnAdminListener(t *testing.T) {
	d := start(t, settings(t.TempDir(), nil)).ready()
	if got, want := <-d.page, "http://"+d.address+"/"; got != want {
		t.Errorf("the page is at %s, want %s", got, want)
	}
	if status, body := d.get("/"); status != http.StatusOK || !strings.Contains(body, "default") {
		t.Errorf("%d %s", status, body)
	}
}
