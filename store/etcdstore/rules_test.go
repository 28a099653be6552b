package etcdstore_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/etcdstore"
)

func TestEtcdKeepsEveryRule(t *testing.T) {
	frame := func(size int, kind, flags byte, rest string) string {
		return string([]byte{byte(size >> 16), byte(size >> 8), byte(size), kind, flags, 0, 0, 0, 1}) + rest
	}
	servertest.Run(t, servertest.Engine{
		Name:  "etcd",
		Start: func(t testing.TB) *testkit.Server { return testkit.Etcd(t) },
		Open:  servertest.Opener(etcdstore.OpenURL),
		URL: func(p servertest.Place) string {
			u := url.URL{Scheme: "etcd", Host: strings.Join(p.Addresses, ","), Path: "/" + p.Prefix, RawQuery: p.Query}
			if p.User != "" {
				u.User = url.UserPassword(p.User, p.Password)
			}
			return u.String()
		},
		Snapshot: func(_ *testing.T, server *testkit.Server) func(context.Context) (func(context.Context) error, error) {
			return func(context.Context) (func(context.Context) error, error) { return server.Snapshot("data") }
		},
		Apart: []servertest.Place{{}, {Prefix: "a"}, {Prefix: "ab"}, {Prefix: "a-"}, {Prefix: "a0"}, {Prefix: "c/a/b"}},
		Content: func(t *testing.T, server *testkit.Server) string {
			all, err := rawClient(t, server).Get(t.Context(), "\x00", clientv3.WithFromKey(), clientv3.WithCountOnly())
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(all.Count, " keys at revision ", all.Header.GetRevision())
		},
		Damage:  damage(),
		Spoiled: store.ErrConflict, // it compares the version, which is gone
		Login: func(t *testing.T) (*testkit.Server, servertest.Place, map[string]servertest.Place) {
			server := testkit.Etcd(t)
			requireUser(t, server)
			return server, servertest.Place{User: "ids", Password: "ids-hush"}, map[string]servertest.Place{
				"no user":        {},
				"wrong password": {User: "ids", Password: "hunter2"},
				"other prefix":   {User: "ids", Password: "ids-hush", Prefix: "elsewhere"},
			}
		},
		TLS: func(t *testing.T, authority, certificate, key string) string {
			return testkit.EtcdTLS(t, authority, certificate, key).Address(2)
		},
		Traits: map[string]store.Traits{
			"":        {Engine: "etcd", Durable: true},
			"loss=2s": {Engine: "etcd", Loss: 2 * time.Second},
		},
		Members: true,
		Hostile: testkit.Hostile{Persists: true, Answers: []testkit.Answer{
			{Bytes: "HTTP/1.1 400 Bad Request\r\n\r\n"},
			{Bytes: frame(1<<24-1, 0, 0, "x")}, {Bytes: frame(5, 0, 0, "\x00\xff\xff\xff\xff")}, {Bytes: frame(5, 0, 0, "\x01\x7f\xff\xff\xff")},
			{Bytes: frame(0, 4, 0, ""), Times: 10000}, {Bytes: frame(8, 6, 0, "12345678"), Times: 10000}, {Bytes: frame(4, 8, 0, "\x7f\xff\xff\xff")},
			{Bytes: frame(6, 4, 0, "\x00\x01\xff\xff\xff\xff")}, {Bytes: frame(6, 4, 0, "\x00\x05\xff\xff\xff\xff")},
			{Bytes: frame(1, 1, 4, "\x88")}, {Bytes: frame(16384, 9, 0, strings.Repeat("x", 16384)), Times: 1000}, {Bytes: frame(4, 3, 0, "\x00\x00\x00\x00")},
			{Bytes: frame(8, 7, 0, "\x7f\xff\xff\xff\x00\x00\x00\x00")}, {Bytes: ""},
		}},
		URLs: urls(),
	})
}

func FuzzParseURL(f *testing.F) {
	servertest.FuzzURLs(f, etcdstore.ParseURL, "etcd://me:pw@a:1,[::1]/prefix?loss=1s")
}

// damage is the writes of others in the place of a register.
func damage() map[string]func(*testing.T, *testkit.Server, string, string) {
	all := map[string]func(*testing.T, *testkit.Server, string, string){}
	for name, value := range map[string]string{
		"empty":          "",
		"text":           "text",
		"token alone":    strings.Repeat("a", 32),
		"capital token":  strings.Repeat("A", 32) + "\n",
		"other token":    strings.Repeat("g", 32) + "\nvalue",
		"value too long": strings.Repeat("a", 32) + "\n" + strings.Repeat("v", store.MaxValue+1),
	} {
		all[name] = func(t *testing.T, server *testkit.Server, prefix, key string) {
			if _, err := rawClient(t, server).Put(t.Context(), prefix+"/"+key, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

func urls() servertest.URLs {
	secure, nowhere := &etcdstore.TLS{}, &etcdstore.TLS{CAFile: "/no/ca", CertFile: "/no/cert", KeyFile: "/no/key"}
	return servertest.URLs{
		Parse: servertest.Parser(etcdstore.ParseURL),
		Meaning: map[string]servertest.Config{
			"etcd://host":                                   etcdstore.Config{Endpoints: []string{"host:2379"}},
			"etcd://a,b:1,[::1]/ids/":                       etcdstore.Config{Endpoints: []string{"a:2379", "b:1", "[::1]:2379"}, Prefix: "ids"},
			"etcd://me:hush@a/ids?loss=2s":                  etcdstore.Config{Endpoints: []string{"a:2379"}, Prefix: "ids", User: "me", Password: "hush", Loss: 2 * time.Second},
			"etcds://me:hu%2Fsh@a":                          etcdstore.Config{Endpoints: []string{"a:2379"}, User: "me", Password: "hu/sh", TLS: secure},
			"etcd://:hush@a?tls=true&user=someone":          etcdstore.Config{Endpoints: []string{"a:2379"}, User: "someone", Password: "hush", TLS: secure},
			"etcd://me@a?password-file=/no/file":            etcdstore.Config{Endpoints: []string{"a:2379"}, User: "me", PasswordFile: "/no/file"},
			"etcds://a?ca=/no/ca&cert=/no/cert&key=/no/key": etcdstore.Config{Endpoints: []string{"a:2379"}, TLS: nowhere},
		},
		Bad: map[string]string{
			"etcd://:hunter2@host":                    "password: needs a user",
			"etcd://me@host":                          "user: needs a password",
			"etcd://host?los=1s":                      `"los": is not a key of etcd://`,
			"etcd://host/" + strings.Repeat("p", 256): "prefix of 256 bytes: must have at most 255",
		},
	}
}
