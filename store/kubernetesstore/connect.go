package kubernetesstore

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"snowfence.example/snowfence/internal/storeurl"
)

// place is where a store is: a server, who asks it, and a namespace there.
type place struct {
	config    *rest.Config
	base      *url.URL // of every path
	namespace string
	tokenFile string // read for each request, since tokens are replaced within hours; empty means that the config names who asks
}

// locate reads the files that show where the store is. It connects to nothing.
func (c Config) locate() (at place, err error) {
	err = rest.ErrNotInCluster
	if c.Kubeconfig == "" && c.Context == "" {
		at.config, err = rest.InClusterConfig()
	}
	if errors.Is(err, rest.ErrNotInCluster) {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath, rules.WarnIfAllMissing = c.Kubeconfig, false
		loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.Context})
		if at.config, err = loader.ClientConfig(); err != nil {
			return at, fmt.Errorf("kubeconfig: %w", err)
		}
		at.namespace, _, err = loader.Namespace()
	} else if err == nil && c.Namespace == "" {
		namespace, failed := storeurl.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
		at.namespace, err = strings.TrimSpace(string(namespace)), failed
	}
	if err != nil {
		return at, err
	}
	if at.namespace = cmp.Or(c.Namespace, at.namespace); !label.MatchString(at.namespace) {
		return at, fmt.Errorf("namespace %.80q: is none: name it in the URL", at.namespace)
	}
	at.tokenFile, at.config.BearerTokenFile = at.config.BearerTokenFile, ""
	if _, err := storeurl.Password("", at.tokenFile); err != nil {
		return at, err
	}
	at.base, _, err = rest.DefaultServerUrlFor(at.config)
	return at, err
}

// connect returns a client for the place's requests, and a function that closes idle connections.
//
// client-go makes the TLS configuration and adds the credentials, also from plugins. The connections
// are our own, and speak HTTP/1.1: a call that ends while the server is silent takes its connection
// with it, and the next call finds the server again. With HTTP/2 all calls share one connection, also
// where its server is gone.
func (at place) connect() (http.RoundTripper, func(), error) {
	if at.config.ExecProvider != nil {
		at.config.ExecProvider.StdinUnavailable = true // there is no terminal
	}
	tls, err := rest.TLSConfigFor(at.config)
	if err != nil {
		return nil, nil, err
	}
	connections := &http.Transport{
		TLSClientConfig: tls, Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 4, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 64 << 10, DisableCompression: true, Protocols: new(http.Protocols),
	}
	connections.Protocols.SetHTTP1(true)
	if at.config.Proxy != nil {
		connections.Proxy = at.config.Proxy
	}
	sender, err := rest.HTTPWrappersForConfig(at.config, connections)
	return sender, connections.CloseIdleConnections, err
}
