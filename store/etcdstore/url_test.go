package etcdstore_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/store/etcdstore"
)

func TestURLBecomesAConfig(t *testing.T) {
	secure, nowhere := &etcdstore.TLS{}, &etcdstore.TLS{CAFile: "/no/ca", CertFile: "/no/cert", KeyFile: "/no/key"}
	for url, want := range map[string]etcdstore.Config{
		"etcd://host":                                   {Endpoints: []string{"host:2379"}},
		"etcd://a,b:1,[::1]/ids/":                       {Endpoints: []string{"a:2379", "b:1", "[::1]:2379"}, Prefix: "ids"},
		"etcd://me:hush@a/ids?loss=2s":                  {Endpoints: []string{"a:2379"}, Prefix: "ids", User: "me", Password: "hush", Loss: 2 * time.Second},
		"etcds://me:hu%2Fsh@a":                          {Endpoints: []string{"a:2379"}, User: "me", Password: "hu/sh", TLS: secure},
		"etcd://:hush@a?tls=true&user=someone":          {Endpoints: []string{"a:2379"}, User: "someone", Password: "hush", TLS: secure},
		"etcd://me@a?password-file=/no/file":            {Endpoints: []string{"a:2379"}, User: "me", PasswordFile: "/no/file"},
		"etcds://a?ca=/no/ca&cert=/no/cert&key=/no/key": {Endpoints: []string{"a:2379"}, TLS: nowhere},
	} {
		c, err := etcdstore.ParseURL(url)
		if err != nil || !reflect.DeepEqual(c, want) {
			t.Errorf("%s: %v (%v), want %v", url, c, err, want)
		}
		encoded, err := json.Marshal(c)
		shown := fmt.Sprintf("%v %+v %#v %s %s %v", c, c, c, slog.AnyValue(c).Resolve(), encoded, err)
		if strings.Contains(shown, "hu") {
			t.Errorf("%s: shows the password: %s", url, shown)
		}
	}
}

func TestFileThatCannotBeUsedIsNamedByOpenAlone(t *testing.T) {
	for query, want := range map[string]string{
		"?tls=true&ca=/no/file":               "ca: ",
		"?tls=true&cert=/no/file&key=/no/key": "cert: ",
		"?user=me&password-file=/no/file":     "password-file: ",
	} {
		c, err := etcdstore.ParseURL("etcd://a" + query)
		if err != nil {
			t.Errorf("%s: %v", query, err)
		}
		for name, err := range map[string]error{"check": c.CheckFiles(), "open": errorOf(etcdstore.OpenURL(t.Context(), "etcd://a"+query))} {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "/no/file") {
				t.Errorf("%s: %s: %v, want %q and the file", query, name, err, want)
			}
		}
	}
}

func errorOf(_ *etcdstore.Store, err error) error { return err }

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
			t.Errorf("%q: %v", url, c)
		}
	})
}
