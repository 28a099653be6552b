package natsstore

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
)

func TestNATSKeepsEveryRule(t *testing.T) {
	servertest.Run(t, servertest.Engine{
		Name:  "nats",
		Start: func(t testing.TB) *testkit.Server { return testkit.NATS(t) },
		Open:  servertest.Opener(OpenURL),
		URL:   urlOf,
		// A rollback is outside what package store can ask of NATS. This engine
		// compares tokens all the same.
		Snapshot: func(_ *testing.T, server *testkit.Server) func(context.Context) (func(context.Context) error, error) {
			return func(context.Context) (func(context.Context) error, error) { return server.Snapshot("jetstream") }
		},
		Apart: []servertest.Place{{}, {Prefix: "a"}, {Prefix: "ab"}, {Space: "other"}},
		Damage: map[string]func(*testing.T, *testkit.Server, string, string){
			"deleted":           publish(map[string]string{"KV-Operation": "DEL"}),
			"put":               publish(nil),
			"of a newer format": publish(map[string]string{markHeader: "2 something else"}),
		},
		Spoiled: store.ErrDamaged,
		Login: func(t *testing.T) (*testkit.Server, servertest.Place, map[string]servertest.Place) {
			// The rights of docs/engines.md and no others.
			server := testkit.NATS(t, `accounts: { A: { jetstream: enabled, users: [ { user: u, password: "s3cret", permissions: { publish: { allow: [
				"$JS.API.STREAM.INFO.KV_snowfence", "$JS.API.STREAM.CREATE.KV_snowfence", "$JS.API.STREAM.MSG.GET.KV_snowfence",
				"$JS.API.CONSUMER.CREATE.KV_snowfence.>", "$JS.API.CONSUMER.MSG.NEXT.KV_snowfence.*", "$JS.API.CONSUMER.DELETE.KV_snowfence.*",
				"$KV.snowfence.>" ] }, subscribe: { allow: [ "_INBOX.>" ] } } },
				{ user: reader, password: r, permissions: { publish: "nothing", subscribe: "_INBOX.>" } } ] } }`)
			return server, servertest.Place{User: "u", Password: "s3cret"}, map[string]servertest.Place{
				"wrong password": {User: "u", Password: "hunter2"},
				"no user":        {},
				"no rights":      {User: "reader", Password: "r"},
			}
		},
		TLS: func(t *testing.T, authority, certificate, key string) string {
			return testkit.NATS(t, fmt.Sprintf(`tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true }`, certificate, key, authority)).Addr()
		},
		URLs: urls(),
	})
}

func urlOf(p servertest.Place) string {
	u := url.URL{Scheme: "nats", Host: strings.Join(p.Addresses, ","), Path: "/" + p.Space, RawQuery: p.Query}
	if p.User != "" {
		u.User = url.UserPassword(p.User, p.Password)
	}
	if p.Prefix != "" {
		u.RawQuery = strings.Trim(p.Query+"&prefix="+p.Prefix, "&")
	}
	return u.String()
}

// publish puts a message of others in the place of a register.
func publish(headers map[string]string) func(*testing.T, *testkit.Server, string, string) {
	return func(t *testing.T, server *testkit.Server, prefix, key string) {
		message := nats.NewMsg("$KV.snowfence." + prefix + "." + key)
		message.Data = []byte("theirs")
		for name, value := range headers {
			message.Header.Set(name, value)
		}
		if _, err := raw(t, server.Addr()).PublishMsg(t.Context(), message); err != nil {
			t.Fatal(err)
		}
	}
}

func urls() servertest.URLs {
	return servertest.URLs{
		Parse: servertest.Parser(ParseURL),
		Meaning: map[string]servertest.Config{
			"nats://h":                                      Config{Endpoints: []string{"h:4222"}},
			"nats://h:1/bucket":                             Config{Endpoints: []string{"h:1"}, Bucket: "bucket"},
			"nats://u:p%40w@a:1,b,[::1]:3,[::2]/":           Config{Endpoints: []string{"a:1", "b:4222", "[::1]:3", "[::2]:4222"}, User: "u", Password: "p@w"},
			"nats://h?loss=5s&replicas=3&prefix=p":          Config{Endpoints: []string{"h:4222"}, Loss: 5 * time.Second, Replicas: 3, Prefix: "p"},
			"nats://h?durable=true&user=u&password-file=/f": Config{Endpoints: []string{"h:4222"}, Durable: true, User: "u", PasswordFile: "/f"},
			"nats://h?creds=/c&unsafe-ignore-loss=true":     Config{Endpoints: []string{"h:4222"}, CredsFile: "/c", UnsafeIgnoreLoss: true},
			"nats://h?nkey=/n&tls=false":                    Config{Endpoints: []string{"h:4222"}, NKeyFile: "/n"},
			"nats://h?token-file=/t":                        Config{Endpoints: []string{"h:4222"}, TokenFile: "/t"},
			"nats://h?tls=true":                             Config{Endpoints: []string{"h:4222"}, TLS: &TLS{}},
		},
		Bad: map[string]string{
			"redis://h":                                     "nats://",
			"nats://h/a/b":                                  "bucket",
			"nats://h/a.b":                                  "bucket",
			"nats://:hunter2@h":                             "user",
			"nats://h?prefix=a.b":                           "prefix",
			"nats://h?replicas=6":                           "replicas",
			"nats://h?replicas=x":                           "replicas",
			"nats://h?loss=0s":                              "loss",
			"nats://h?loss=5s&durable=true":                 "loss",
			"nats://h?loss=5s&unsafe-ignore-loss=true":      "unsafe-ignore-loss",
			"nats://h?durable=true&unsafe-ignore-loss=true": "unsafe-ignore-loss",
			"nats://h?color=red":                            "color",
			"nats://h?ca=/nowhere":                          "tls",
			"nats://h?tls=true&cert=/nowhere":               "cert",
			"nats://h?creds=/a&nkey=/b":                     "creds",
			"nats://u:hunter2@h?token-file=/t":              "token-file",
			"nats://h?password-file=/f":                     "user",
		},
		Files: map[string]string{
			"token-file=/no/such/file": "token-file: ",
			"creds=/no/such/file":      "creds: ",
			"nkey=/no/such/file":       "nkey: ",
		},
	}
}
