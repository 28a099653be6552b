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
	"sync/atomic"
	"testing"
)

// kubernetesFront takes plain HTTP at the first port of an API server until the end of the test, and passes requests
// on to the second. A request that the API server does not answer ends its connection.
type kubernetesFront struct {
	expired atomic.Pointer[string] // the token that takes the place of the admin's; nil means none
	busy    atomic.Bool            // requests are refused as by an API server with too many
}

// start listens. Requests without a token get the admin's.
func (f *kubernetesFront) start(t testing.TB, s *Server, authorities *x509.CertPool) error {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", s.Addr())
	if err != nil {
		return err
	}
	target := &url.URL{Scheme: "https", Host: s.Address(1)}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			token := kubernetesAdmin
			if expired := f.expired.Load(); expired != nil {
				token = *expired
			}
			if r.Out.Header.Get("Authorization") == "" {
				r.Out.Header.Set("Authorization", "Bearer "+token)
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
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.busy.Load() {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
			return
		}
		FullDuplex(t, proxy).ServeHTTP(w, r)
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("front of kube-apiserver: %v", err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("front of kube-apiserver: %v", err)
		}
	})
	return nil
}

// FullDuplex is a proxy that may go on reading a request while it answers. By default the server closes the request's body
// when the answer begins. A transport that has not seen the end of the body by then cuts its connection.
func FullDuplex(t testing.TB, proxy http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			t.Errorf("proxy: %v", err)
		}
		proxy.ServeHTTP(w, r)
	})
}
