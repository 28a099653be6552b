package etcdstore_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"snowfence.example/snowfence/store/etcdstore"
)

func TestURLBecomesAConfig(t *testing.T) {
	for url, want := range map[string]string{
		"etcd://host":                          `etcd host:2379 prefix ""`,
		"etcd://a,b:1,[::1]/ids/":              `etcd a:2379,b:1,[::1]:2379 prefix "ids"`,
		"etcd://me:hush@a/ids?loss=2s":         `etcd a:2379 prefix "ids" user "me" loss 2s`,
		"etcds://me:hu%2Fsh@a":                 `etcd a:2379 prefix "" user "me" over TLS`,
		"etcd://:hush@a?tls=true&user=someone": `etcd a:2379 prefix "" user "someone" over TLS`,
	} {
		c, err := etcdstore.ParseURL(url)
		if err != nil || c.String() != want {
			t.Errorf("%s: %s (%v), want %s", url, c, err, want)
		}
		shown := fmt.Sprintf("%v %+v %#v %s", c, c, c, slog.AnyValue(c).Resolve())
		if strings.Contains(shown, "hu") {
			t.Errorf("%s: shows the password: %s", url, shown)
		}
	}
}

func TestBadURLIsRefusedWithItsPart(t *testing.T) {
	for url, want := range map[string]string{
		"http://host":                             "must begin with etcd:// or etcds://",
		"etcd://":                                 "host number 1",
		"etcd://me:hush":                          "host number 1",
		"etcd://:hush@host":                       "password: needs a user",
		"etcd://me@host":                          "user: needs a password",
		"etcd://host?los=1s":                      `"los": is not a key of etcd://`,
		"etcd://host?loss=0s":                     "loss=",
		"etcd://host?durable=true":                `"durable": is not a key`,
		"etcd://host?ca=/nowhere":                 "need tls=true",
		"etcd://host/" + strings.Repeat("p", 256): "prefix of 256 bytes: must have at most 255",
	} {
		_, err := etcdstore.ParseURL(url)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
}

func FuzzParseURL(f *testing.F) {
	f.Add("etcd://me:pw@a:1,[::1]/prefix?loss=1s")
	f.Fuzz(func(t *testing.T, url string) {
		c, err := etcdstore.ParseURL(url)
		if err == nil && (len(c.Endpoints) == 0 || strings.HasSuffix(c.Prefix, "/") || c.Loss < 0) {
			t.Errorf("%q: %s", url, c)
		}
	})
}
