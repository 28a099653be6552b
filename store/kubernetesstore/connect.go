package kubernetesstore

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"snowfence.example/snowfence/internal/storeurl"
)

const (
	maxHeaders = 64 << 10         // bytes of an answer's headers
	idle       = 90 * time.Second // after which an unused connection is closed
)

// place is where a store is: a server, who asks it, and a namespace there.
type place struct {
	config    *rest.Config
	base      *url.URL // of every path
	namespace string
	tokenFile string // holds the token of each request; empty means that the config says who asks
}

// locate reads the files that say where the store is. It connects to nothing.
func (c Config) locate() (at place, err error) {
	host := os.Getenv("KUBERNETES_SERVICE_HOST")
	if c.Kubeconfig == "" && c.Context == "" && host != "" {
		at, err = c.inCluster(net.JoinHostPort(host, os.Getenv("KUBERNETES_SERVICE_PORT")))
	} else {
		at, err = c.outside()
	}
	if err != nil {
		return at, err
	}
	if c.Namespace != "" {
		at.namespace = c.Namespace
	}
	if !label.MatchString(at.namespace) {
		return at, fmt.Errorf("namespace %.80q: is not one: name it in the URL", at.namespace)
	}
	at.base, _, err = rest.DefaultServerUrlFor(at.config) //nolint:staticcheck // has no other name
	return at, err
}

// inCluster is a pod's own cluster, and its service account.
func (c Config) inCluster(address string) (at place, err error) {
	at.tokenFile = filepath.Join(c.ServiceAccount, "token")
	at.config = &rest.Config{Host: "https://" + address, TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(c.ServiceAccount, "ca.crt")}}
	if _, err = at.token(); err != nil || c.Namespace != "" {
		return at, err
	}
	namespace, err := storeurl.ReadFile(filepath.Join(c.ServiceAccount, "namespace"))
	at.namespace = strings.TrimSpace(string(namespace))
	return at, err
}

// outside is what a kubeconfig says, found as kubectl finds it.
func (c Config) outside() (at place, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath, rules.WarnIfAllMissing = c.Kubeconfig, false
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.Context})
	if at.config, err = loader.ClientConfig(); err != nil {
		return at, fmt.Errorf("kubeconfig: %w", err)
	}
	at.namespace, _, err = loader.Namespace()
	at.tokenFile = at.config.BearerTokenFile
	return at, err
}

// token reads the token file, if there is one.
func (at place) token() (string, error) {
	if at.tokenFile == "" {
		return "", nil
	}
	content, err := storeurl.ReadFile(at.tokenFile)
	token := strings.TrimSpace(string(content))
	if err == nil && token == "" {
		err = errors.New("is empty")
	}
	if err != nil {
		return "", fmt.Errorf("token %s: %w", at.tokenFile, err)
	}
	return token, nil
}

// connect returns what sends requests as the place says, and what closes idle connections.
//
// client-go makes the TLS configuration and adds the credentials, plugins among them. The connections are our own,
// and speak HTTP/1.1: a call that ends while the server is silent takes its connection with it, and the next call
// finds the server again. With HTTP/2 all calls would share one connection, also where it leads to nobody any more.
//
// No layer sends a request again that may have reached the server: net/http does so for a body that it can rewind, or
// for a method that may be repeated. See [Store.send].
func (at place) connect() (http.RoundTripper, func(), error) {
	config := rest.CopyConfig(at.config)
	if config.ExecProvider != nil {
		config.ExecProvider.StdinUnavailable = true // nobody types here
	}
	if at.tokenFile != "" {
		config.BearerTokenFile, config.BearerToken = "", ""
	}
	tls, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, nil, err
	}
	proxy := http.ProxyFromEnvironment
	if config.Proxy != nil {
		proxy = config.Proxy
	}
	connections := &http.Transport{
		TLSClientConfig: tls, Proxy: proxy, MaxResponseHeaderBytes: maxHeaders, IdleConnTimeout: idle, DisableCompression: true,
		MaxIdleConnsPerHost: 4, DialContext: (&net.Dialer{KeepAlive: 10 * time.Second}).DialContext, Protocols: new(http.Protocols),
	}
	connections.Protocols.SetHTTP1(true)
	sender, err := rest.HTTPWrappersForConfig(config, connections)
	if err != nil || at.tokenFile == "" {
		return sender, connections.CloseIdleConnections, err
	}
	return withToken{sender, at}, connections.CloseIdleConnections, nil
}

// withToken adds the token that the file has now: a service account's is replaced within its lifetime.
type withToken struct {
	http.RoundTripper

	at place
}

// RoundTrip implements [http.RoundTripper].
func (w withToken) RoundTrip(request *http.Request) (*http.Response, error) {
	token, err := w.at.token()
	if err != nil {
		return nil, err
	}
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+token)
	return w.RoundTripper.RoundTrip(request)
}
