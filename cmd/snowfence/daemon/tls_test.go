package daemon

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
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

func TestAdminListenerTakesMetricsFromTheHTTPFront(t *testing.T) {
	s := settings(t.TempDir(), nil)
	s.Admin = "127.0.0.1:0"
	d := start(t, s).ready()
	admin := d.urls["admin"]
	for url, status := range map[string]int{
		"http://" + d.address + "/metrics":                   http.StatusNotFound,
		"http://" + d.address + "/v1/generators/default/ids": http.StatusOK,
		"http://" + d.address + "/livez":                     http.StatusOK,
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
