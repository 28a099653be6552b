//go:build servers

package kubernetesstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/kubernetesstore"
)

func TestKubernetesKeepsEveryRule(t *testing.T) {
	servers := map[*testkit.Server]*testkit.Kubernetes{}
	start := func(t testing.TB) *testkit.Server {
		k := testkit.StartKubernetes(t)
		servers[k.Server] = k
		return k.Server
	}
	servertest.Run(t, servertest.Engine{
		Name: "kubernetes", Start: start, Hostless: true,
		Open: servertest.Opener(kubernetesstore.OpenURL),
		URL: func(p servertest.Place) string {
			query := p.Query
			if !strings.Contains(query, "kubeconfig=") {
				query += "&kubeconfig=" + url.QueryEscape(kubeconfig(t, servers, p))
			}
			if p.Prefix != "" {
				query += "&prefix=" + p.Prefix
			}
			return "kubernetes:///" + testkit.KubernetesNamespace + "?" + strings.TrimPrefix(query, "&")
		},
		Snapshot: func(_ *testing.T, server *testkit.Server) func(context.Context) (func(context.Context) error, error) {
			return func(context.Context) (func(context.Context) error, error) { return servers[server].Snapshot() }
		},
		Apart: []servertest.Place{{}, {Prefix: "a"}, {Prefix: "ab"}, {Prefix: "a-b"}, {Prefix: "a0"}, {Prefix: "index"}},
		Content: func(t *testing.T, server *testkit.Server) string {
			var all json.RawMessage
			k := servers[server]
			k.Must(t, http.MethodGet, k.Leases(testkit.KubernetesNamespace), nil, &all)
			_, items, _ := strings.Cut(string(all), `"items"`) // not the revision, which others move
			return items
		},
		Damage:  damage(servers),
		Spoiled: store.ErrDamaged,
		Login: func(t *testing.T) (*testkit.Server, servertest.Place, map[string]servertest.Place) {
			k := servers[start(t)]
			token := func(name string, verbs ...string) string {
				return k.AccountToken(t, testkit.KubernetesNamespace, name, k.ServiceAccount(t, testkit.KubernetesNamespace, name, verbs...), time.Hour)
			}
			return k.Server, servertest.Place{User: "ids", Password: token("ids", "get", "list", "create", "patch")}, map[string]servertest.Place{
				"wrong token": {User: "ids", Password: "hunter2"},
				"no get":      {User: "ids", Password: token("no-get", "list", "create", "patch")},
			}
		},
		Traits: map[string]store.Traits{
			"":        {Engine: "kubernetes", Durable: true},
			"loss=2s": {Engine: "kubernetes", Loss: 2 * time.Second},

			"durable=true": {Engine: "kubernetes", Durable: true},
		},
		Hostile: testkit.Hostile{Answers: []testkit.Answer{
			{Bytes: "HTTP/1.1 400 Bad Request\r\n\r\n"}, {Bytes: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"}, {Bytes: "\x00\xff\xff"}, {Bytes: ""},
			{Bytes: "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"}, {Bytes: "HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\n\r\n"},
			{Bytes: "HTTP/1.1 200 OK\r\n" + strings.Repeat("A: "+strings.Repeat("x", 1000)+"\r\n", 1000)},
			{Bytes: "HTTP/1.1 100 Continue\r\n\r\n", Times: 10000}, {Bytes: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n"},
			{Bytes: strings.Repeat("[", 1<<20), Times: 16}, {Bytes: "HTTP/1.1 429 Busy\r\nRetry-After: 99999\r\nContent-Length: 0\r\n\r\n"},
			{Bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n" + strings.Repeat("[", 1<<20)},
		}},
		URLs: urls(),
	})
}

// kubeconfig is one for a place: its own login by TLS, or the plain front without a login.
func kubeconfig(t *testing.T, servers map[*testkit.Server]*testkit.Kubernetes, p servertest.Place) string {
	t.Helper()
	for server, k := range servers {
		if p.User != "" && p.Addresses[0] == server.Addr() {
			return k.Kubeconfig(t, "https://"+k.Secure(), p.Password)
		}
	}
	return (*testkit.Kubernetes)(nil).Kubeconfig(t, "http://"+p.Addresses[0], p.Password)
}

// damage is the harm that others can do to a register.
func damage(servers map[*testkit.Server]*testkit.Kubernetes) map[string]func(*testing.T, *testkit.Server, string, string) {
	all := map[string]func(*testing.T, *testkit.Server, string, string){}
	annotation := func(name string, text any) map[string]any {
		return map[string]any{"annotations": map[string]any{"snowfence.example/" + name: text}}
	}
	for name, metadata := range map[string]map[string]any{
		"no key":          annotation("key", nil),
		"other key":       annotation("key", "other"),
		"no version":      annotation("version", nil),
		"capital version": annotation("version", strings.Repeat("A", 32)),
		"no value":        annotation("value", nil),
		"value too long":  annotation("value", `"`+strings.Repeat("v", store.MaxValue+1)+`"`),
		"value unquoted":  annotation("value", "value"),
		"other quotes":    annotation("value", "`value`"),
		"with an owner":   {"ownerReferences": []any{map[string]any{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}}},
	} {
		all[name] = func(t *testing.T, server *testkit.Server, prefix, key string) {
			k := servers[server]
			k.Must(t, http.MethodPatch, k.Leases(testkit.KubernetesNamespace, prefix+"."+key), map[string]any{"metadata": metadata}, nil)
		}
	}
	return all
}

func urls() servertest.URLs {
	return servertest.URLs{
		Parse: servertest.Parser(kubernetesstore.ParseURL),
		Meaning: map[string]servertest.Config{
			"kubernetes://":                                 kubernetesstore.Config{},
			"kubernetes:///ids?prefix=a&loss=2s":            kubernetesstore.Config{Namespace: "ids", Prefix: "a", Loss: 2 * time.Second},
			"kubernetes:///ids?durable=true":                kubernetesstore.Config{Namespace: "ids", Durable: true},
			"kubernetes:///?kubeconfig=/no/file&context=us": kubernetesstore.Config{Kubeconfig: "/no/file", Context: "us"},
		},
		Bad: map[string]string{
			"kubernetes://ids":             "write kubernetes:///NAMESPACE",
			"kubernetes://me:hunter2@/ids": "must have no host",
			"kubernetes:///Ids":            `namespace "Ids": must have`,
			"kubernetes:///a/b":            `namespace "a/b": must have`,
			"kubernetes:///ids?prefix=a.b": `prefix "a.b": must have`,
			"kubernetes:///ids?prefix=" + fmt.Sprint(1<<62) + strings.Repeat("0", 50): "must have 1 to 63",
			"kubernetes:///ids?los=1s":               `"los": is not a key of kubernetes://`,
			"kubernetes:///ids?durable=true&loss=1s": "must not be given for a store that is durable",
		},
		Files: map[string]string{"kubeconfig=/no/such/file": "kubeconfig: "},
	}
}
