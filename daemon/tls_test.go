package daemon

import (
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
)

// TestTLSAndTokenGuardTheFront runs a daemon that others than this host could
// reach, if it listened on their address.
func TestTLSAndTokenGuardTheFront(t *testing.T) {
	// The certificate of the standard library's test servers is for loopback.
	lender := httptest.NewTLSServer(nil)
	defer lender.Close()
	lent := lender.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(lent.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	const token = "Correct-horse-battery"
	s := settings(folder, nil)
	s.Thrift = "" // it has no tokens
	s.TLS.Certificate, s.TLS.Key, s.TokenFile = filepath.Join(folder, "c.pem"), filepath.Join(folder, "k.pem"), filepath.Join(folder, "token")
	for path, content := range map[string][]byte{
		s.TLS.Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: lent.Certificate[0]}),
		s.TLS.Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		s.TokenFile:       []byte(token + "\n"),
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := start(t, s).ready()
	client := lender.Client()
	client.Transport.(*http.Transport).ForceAttemptHTTP2 = true
	for _, c := range []struct {
		path, token string
		status      int
	}{
		{"/v1/generators/default/ids", token, http.StatusOK},
		{"/v1/generators/default/ids", "wrong", http.StatusUnauthorized},
		{"/livez", "wrong", http.StatusOK},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+d.address+c.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+c.token)
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil {
			t.Error(err)
		}
		if answer.StatusCode != c.status || answer.ProtoMajor != 2 {
			t.Errorf("%s with %q: %d over HTTP/%d, want %d over HTTP/2", c.path, c.token, answer.StatusCode, answer.ProtoMajor, c.status)
		}
	}
}

// TestHealthListenerAnswersProbesAlone has an address that other hosts reach, beside fronts with TLS and a token.
func TestHealthListenerAnswersProbesAlone(t *testing.T) {
	folder := t.TempDir()
	const token = "Correct-horse-battery"
	s := settings(folder, nil)
	s.Thrift, s.Health, s.TokenFile = "", "0.0.0.0:0", filepath.Join(folder, "token")
	s.TLS.Certificate, s.TLS.Key = filepath.Join(folder, "c.pem"), filepath.Join(folder, "k.pem")
	testkit.NewAuthority(t).IssueTo(t, s.TLS.Certificate, s.TLS.Key, "daemon", "127.0.0.1")
	if err := os.WriteFile(s.TokenFile, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	d := start(t, s).ready()
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
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+port+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token) // a token by plain HTTP opens nothing
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != status || strings.Contains(string(body), `"default"`) {
			t.Errorf("%s: %d %s, want %d without names", path, answer.StatusCode, body, status)
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
		answer, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != status {
			t.Errorf("%s: %d, want %d", url, answer.StatusCode, status)
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
