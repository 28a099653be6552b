package redisstore_test

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/redisstore"
)

func TestRedisKeepsEveryRule(t *testing.T) {
	servertest.Run(t, servertest.Engine{
		Name:  "redis",
		Start: func(t testing.TB) *testkit.Server { return testkit.Redis(t) },
		Open:  servertest.Opener(redisstore.OpenURL),
		URL:   urlOf,
		Snapshot: func(_ *testing.T, server *testkit.Server) func(context.Context) (func(context.Context) error, error) {
			return func(context.Context) (func(context.Context) error, error) { return server.Snapshot("appendonlydir") }
		},
		// The second prefix is such that a key of the first could look like it.
		Apart: []servertest.Place{{}, {Prefix: "snowfence:register:"}, {Prefix: "a"}, {Prefix: "ab"}, {Space: "1"}, {Space: "15", Prefix: "a"}},
		Content: func(t *testing.T, server *testkit.Server) string {
			return command(t, server, "INFO keyspace") + command(t, server, "DBSIZE")
		},
		Damage: map[string]func(*testing.T, *testkit.Server, string, string){
			"deleted":           spoil("DEL %s"),
			"of a newer format": spoil("SET %s 2+00000000000000000000000000000000+x"),
			"cut short":         spoil("SETRANGE %s 2 xyz"),
			"empty":             spoil("SET %s ''"),
			"of another type":   spoil("RENAME other %s"),
		},
		Spoiled: store.ErrDamaged,
		Login: func(t *testing.T) (*testkit.Server, servertest.Place, map[string]servertest.Place) {
			rights := documentedRights(t)
			rights[slices.Index(rights, ">password")] = ">hush-hush"
			server := testkit.Redis(t, append([]string{"--requirepass", "hush-hush", "--user", "snowfence"}, rights...)...)
			return server, servertest.Place{User: "snowfence", Password: "hush-hush", Space: "1"}, map[string]servertest.Place{
				"no user":         {},
				"wrong password":  {User: "snowfence", Password: "hunter2"},
				"nobody":          {User: "nobody", Password: "hunter2"},
				"wrong of no one": {Password: "hunter2"},
			}
		},
		SetPassword: func(t *testing.T, server *testkit.Server, user, password string) {
			command(t, server, "ACL SETUSER "+user+" on ~* +@all resetpass >"+password)
			command(t, server, "CLIENT KILL TYPE normal")
		},
		TLS: startTLS,
		Traits: map[string]store.Traits{
			"":             {Engine: "redis", Loss: redisstore.DefaultLoss},
			"loss=300ms":   {Engine: "redis", Loss: 300 * time.Millisecond},
			"durable=true": {Engine: "redis", Durable: true},
		},
		Hostile: testkit.Hostile{Answers: []testkit.Answer{
			{Bytes: "$9223372036854775807\r\n", Wrong: "a text of 9223372036854775807 bytes"},
			{Bytes: "$2147483647\r\nx", Wrong: "a text of 2147483647 bytes"},
			{Bytes: "$-2\r\n", Wrong: `the length "$-2"`},
			{Bytes: "$99999999999999999999\r\n", Wrong: "the length"},
			{Bytes: "*4000000000\r\n", Wrong: "a list of 4000000000 elements"},
			{Bytes: "*4001\r\n", Wrong: "a list of 4001 elements"},
			{Bytes: strings.Repeat("*2000\r\n", 3), Wrong: "a list of 2000 elements"},
			{Bytes: strings.Repeat("*1\r\n", 100000), Wrong: "lists within lists"},
			{Bytes: strings.Repeat("|0\r\n", 1<<20), Wrong: "not a type of RESP"},
			{Bytes: "%1000000000\r\n", Wrong: "a list of 1000000000 elements"},
			{Bytes: ">1000000000\r\n", Wrong: "a list of 1000000000 elements"},
			{Bytes: "HTTP/1.1 400 Bad Request\r\n\r\n", Wrong: "is it a Redis server?"},
			{Bytes: "+" + strings.Repeat("x", 1<<20), Wrong: "a line of more than"},
			{Bytes: "\r\n", Wrong: "the line"},
			{Bytes: "*0\r\n"}, {Bytes: "$-1\r\n"}, {Bytes: "*-1\r\n"}, {Bytes: ":1\r\n"}, {Bytes: "+OK\r\n"}, {Bytes: "-ERR no\r\n"},
			{Bytes: "*2\r\n:1\r\n"},
		}},
		URLs: urls(),
	})
}

func FuzzParseURL(f *testing.F) {
	servertest.FuzzURLs(f, redisstore.ParseURL, "redis://me:hunter2@[::1]:1,b/0?prefix=a:&loss=1s&sentinel=x", "rediss://a?ca=/no&durable=true", "redis://u:hunter2/@a")
}

// urlOf names a store. Of several servers it sets the loss, which nothing bounds.
func urlOf(p servertest.Place) string {
	u := url.URL{Scheme: "redis", Host: strings.Join(p.Addresses, ","), Path: "/" + p.Space}
	if p.User+p.Password != "" {
		u.User = url.UserPassword(p.User, p.Password)
	}
	query := []string{p.Query}
	if p.Prefix != "" {
		query = append(query, "prefix="+p.Prefix)
	}
	if len(p.Addresses) > 1 {
		query = append(query, "loss=15s")
	}
	u.RawQuery = strings.Trim(strings.Join(query, "&"), "&")
	return u.String()
}

// spoil runs a command on the key of a register. A key that is called other holds a set.
func spoil(text string) func(*testing.T, *testkit.Server, string, string) {
	return func(t *testing.T, server *testkit.Server, prefix, key string) {
		command(t, server, "SADD other member")
		command(t, server, strings.Replace(text, "%s", prefix+"register:"+key, 1))
	}
}

func startTLS(t *testing.T, authority, certificate, key string) string {
	return testkit.StartServer(t, testkit.Program{
		Name: "redis-server", Package: "redis-server", Ready: testkit.Accepts,
		Arguments: func(s *testkit.Server) []string {
			return []string{
				"--port", "0", "--tls-port", strconv.Itoa(s.Ports[0]), "--bind", "127.0.0.1", "--dir", s.Dir,
				"--save", "", "--appendonly", "yes", "--appendfsync", "always",
				"--tls-ca-cert-file", authority, "--tls-cert-file", certificate, "--tls-key-file", key,
			}
		},
	}).Addr()
}

func urls() servertest.URLs {
	return servertest.URLs{
		Parse: servertest.Parser(redisstore.ParseURL),
		Meaning: map[string]servertest.Config{
			"redis://localhost":        redisstore.Config{Endpoints: []string{"localhost:6379"}},
			"redis://localhost:1234/7": redisstore.Config{Endpoints: []string{"localhost:1234"}, Database: 7},
			"redis://a,b:2,[::1]":      redisstore.Config{Endpoints: []string{"a:6379", "b:2", "[::1]:6379"}},
			"redis://me:pa%2Fss%40@a":  redisstore.Config{Endpoints: []string{"a:6379"}, User: "me", Password: "pa/ss@"},
			"redis://:secret@a":        redisstore.Config{Endpoints: []string{"a:6379"}, Password: "secret"},
			"redis://a?prefix=app:ids:&loss=2s&noeviction=true&replicated=true": redisstore.Config{
				Endpoints: []string{"a:6379"}, Prefix: "app:ids:", Loss: 2 * time.Second, NoEviction: true, Replicated: true},
			"redis://a?user=me&password-file=/run/secret": redisstore.Config{Endpoints: []string{"a:6379"}, User: "me", PasswordFile: "/run/secret"},
			"redis://a?durable=true":                      redisstore.Config{Endpoints: []string{"a:6379"}, Durable: true},
			"redis://a,b:1?sentinel=main&sentinel-user=s&sentinel-password-file=/f": redisstore.Config{
				Endpoints: []string{"a:26379", "b:1"}, Sentinel: "main", SentinelUser: "s", SentinelPasswordFile: "/f"},
			"rediss://a": redisstore.Config{Endpoints: []string{"a:6379"}, TLS: &redisstore.TLS{}},
		},
		Bad: map[string]string{
			"":                                       "must begin with redis://",
			"redis://a/x":                            `database "x"`,
			"redis://a/-1":                           `database "-1"`,
			"redis://a?durable=true&loss=1s":         "loss 1s",
			"redis://a?durable=true&sentinel=x":      "Sentinel",
			"redis://a?durable=true&replicated=true": "replicated",
			"redis://a?cluster=true":                 "cluster mode is not supported",
			"redis://a?unknown=1&loss=1s": "known are ca, cert, durable, key, loss, noeviction, password-file, prefix, replicated, " +
				"sentinel, sentinel-password-file, sentinel-user, tls, user",
			"redis://a?prefix=a*b":                         `prefix "a*b"`,
			"redis://a?prefix=" + strings.Repeat("x", 129): "129 bytes",
		},
		Files: map[string]string{"sentinel=x&sentinel-password-file=/no/such/file": "password-file: "},
	}
}
