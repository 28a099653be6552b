package testkit

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"testing"
)

// kubernetesFront takes plain HTTP at the first port of an API server until the end of the test, and passes requests
// on to the second. A request that the API server does not answer ends its connection: no answer is made up.
func kubernetesFront(t testing.TB, s *Server, authorities *x509.CertPool) error {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", s.Addr())
	if err != nil {
		return err
	}
	target := &url.URL{Scheme: "https", Host: s.Address(1)}
	server := &http.Server{Handler: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			if r.Out.Header.Get("Authorization") == "" {
				r.Out.Header.Set("Authorization", "Bearer "+kubernetesAdmin)
			}
		},
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12},
			DisableKeepAlives: true, // or their goroutines count
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_ = connection.Close()
			}
		},
	}}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		if err := errors.Join(server.Close(), ignoreClosed(<-served)); err != nil {
			t.Errorf("front of kube-apiserver: %v", err)
		}
	})
	return nil
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
