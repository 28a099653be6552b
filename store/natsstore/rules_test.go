package natsstore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
)

func TestNATSKeepsEveryRule(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	servertest.Run(t, servertest.Engine{
		Name:  "nats",
		Start: func(t testing.TB) *testkit.Server { return testkit.NATS(t) },
		Open:  servertest.Opener(OpenURL),
		URL:   urlOf,
		// NATS can't keep package store's rule on rollbacks. This engine
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
			// Exactly the rights of docs/engines.md.
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
		Traits: map[string]store.Traits{
			"":        {Engine: "nats", Loss: DefaultLoss},
			"loss=5s": {Engine: "nats", Loss: 5 * time.Second},
		},
		Hostile: testkit.Hostile{First: "must be INFO", Answers: []testkit.Answer{
			{Bytes: "MSG x 1 9223372036854775807\r\n", Wrong: `a message whose length is "9223372036854775807"`},
			{Bytes: "MSG x 1 100000000000\r\nx", Wrong: "a message whose length"},
			{Bytes: "MSG x 1 18446744073709551617\r\n", Wrong: "a message whose length"},
			{Bytes: "MSG x 1 -1\r\n", Wrong: "a message whose length"},
			{Bytes: "HMSG x 1 9223372036854775807 9223372036854775807\r\n", Wrong: "a message whose length"},
			{Bytes: "hmsg x 1 12 2\r\n", Wrong: "a message of 2 bytes with a header of 12"},
			{Bytes: "MSG x 1 2\r\nabcd\r\n", Wrong: "without CRLF where its length ends"},
			{Bytes: "MSG x\r\n", Wrong: "must have a subject"},
			{Bytes: "MSG x 1 1\r2\r\n", Wrong: "must have words and end in CRLF"},
			{Bytes: "INFO {" + long, Wrong: "a line of more than"},
			{Bytes: "MSG " + long, Wrong: "a line of more than"},
			{Bytes: "-ERR " + long, Wrong: "a line of more than"},
			{Bytes: "MSG x 1 0\r\n\r\n", Times: 64*256 + 1},
			{Bytes: "MSG x 1 1048576\r\n" + long + "\r\n", Times: 100},
			{Bytes: "HTTP/1.1 400 Bad Request\r\n\r\n", Wrong: "is it a NATS server?"},
			{Bytes: "\r\n", Wrong: "the line"},
			{Bytes: "PING\r\n"}, {Bytes: "+OK\r\n"}, {Bytes: "-ERR 'no'\r\n"}, {Bytes: "INFO {}\r\n"}, {Bytes: "INFO x\r\n"},
			{Bytes: `INFO {"version":"2.10.0","max_payload":-1}` + "\r\nPONG\r\n"},
		}},
		URLs: urls(),
	})
}

// NATS 2.9, which can't be durable, is left out.
func TestDurableStoreLosesNothing(t *testing.T) {
	c, err := Config{Endpoints: []string{"h:1"}, Durable: true}.withDefaults()
	s := &Store{config: c, life: storeclient.Begin()}
	traits, traitsErr := s.Traits(t.Context())
	if err := errors.Join(err, traitsErr); err != nil || traits != (store.Traits{Engine: "nats", Durable: true}) {
		t.Errorf("%+v, %v", traits, err)
	}
}

func FuzzParseURL(f *testing.F) {
	servertest.FuzzURLs(f, ParseURL, "nats://u:pass@a:1,b/bucket?loss=5s&replicas=3", "nats://h?durable=true", "nats://[::1]",
		"nats://", "nats://u:p@h@i", "nats://h?tls=true", "nats://%zz@h")
}

func FuzzAnswers(f *testing.F) {
	servertest.FuzzAnswers(f, []string{"INFO {}\r\nPING\r\nMSG x 1 2\r\nab\r\n+OK\r\n", "HMSG x 1 y 2 3\r\nabc\r\n", "MSG x 1 9223372036854775807\r\n"}, newAnswers)
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
			"nats://h?creds=/c&tls=false":                   Config{Endpoints: []string{"h:4222"}, CredsFile: "/c"},
			"nats://h?tls=true":                             Config{Endpoints: []string{"h:4222"}, TLS: &TLS{}},
		},
		Bad: map[string]string{
			"nats://h/a/b":                  "bucket",
			"nats://h/a.b":                  "bucket",
			"nats://:hunter2@h":             "user",
			"nats://h?prefix=a.b":           "prefix",
			"nats://h?replicas=6":           "replicas",
			"nats://h?loss=5s&durable=true": "loss",
			"nats://h?color=red":            "color",
			"nats://u@h?creds=/a":           "creds",
			"nats://h?password-file=/f":     "user",
		},
		Files: map[string]string{
			"creds=/no/such/file": "creds: ",
		},
	}
}
