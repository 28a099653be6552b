package engine

import (
	"strings"
	"testing"
	"time"
)

func TestSchemeDecidesStoreOrDatabase(t *testing.T) {
	for text, want := range map[string]string{
		"file:/x": "store", "FILE:x": "store", "mem://": "store", "etcds://a": "store", "redis://a": "store",
		"postgres://a/b": "database", "MariaDB://a": "database",
		"mem:x": "", "redis:x": "", "mysql:x": "", "./mysql://x": "", "a.csv": "", "ftp://a": "", "": "",
	} {
		got := ""
		if IsStore(text) {
			got = "store"
		}
		if IsDatabase(text) {
			got += "database"
		}
		if got != want {
			t.Errorf("%q is taken for %q, want %q", text, got, want)
		}
	}
}

func TestLossIsWhatTheURLSaysOrTheEnginesOwn(t *testing.T) {
	for url, want := range map[string]time.Duration{
		"file:/x": 0, "mem://": 0, "etcd://h": 0, "etcd://h?loss=2s": 2 * time.Second, "zookeeper://h": 0,
		"redis://h": 15 * time.Second, "redis://h?durable=true": 0, "rediss://h?loss=1m": time.Minute,
		"postgres://u:p%3Fw@h/d": 15 * time.Second, "mysql://u@h/d?durable=false": 15 * time.Second, "mariadb://u@h/d?durable=true": 0,
		"nats://h": 150 * time.Second, "nats://h?durable=true": 0, "ftp://h": 0, "": 0,
	} {
		if got := Loss(url); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}

func TestRedactHidesWhatMayBeASecret(t *testing.T) {
	for url, want := range map[string]string{
		"file:/var/lib/snowfence":             "file:/var/lib/snowfence",
		"mem:":                                "mem:",
		"redis://host:6379/0":                 "redis://host:6379/0",
		"redis://pw@host":                     "redis://xxxxx@host",
		"postgres://me@host/d":                "postgres://me@host/d",
		"postgres://ids:pw/db":                "postgres://ids:xxxxx",
		"postgres://ids:pw":                   "postgres://ids:xxxxx",
		"postgres://ids:1234567pw/db":         "postgres://ids:xxxxx",
		"postgres://ids:123456/db":            "postgres://ids:xxxxx",
		"postgres://ids:p,pw/pw?a=pw":         "postgres://ids:xxxxx",
		"etcd://u:p@h1,u:pw":                  "etcd://u:xxxxx@h1,u:xxxxx",
		"etcd://h1:2379,[::1]:2379,[::1]/p":   "etcd://h1:2379,[::1]:2379,[::1]/p",
		"postgres:ids:pw":                     "postgres:ids:xxxxx",
		"host=h password='a pw' port=1":       "host=h password=xxxxx port=1",
		`host=h password='a \' pw'`:           "host=h password=xxxxx",
		`host=h password="a pw`:               "host=h password=xxxxx",
		"host=h PWD = {a;pw};port=1":          "host=h PWD = xxxxx;port=1",
		"https://ids:pw":                      "https://ids:xxxxx",
		"redis://me:pw@host/0":                "redis://me:xxxxx@host/0",
		"redis://:pw@host/0":                  "redis://:xxxxx@host/0",
		"mysql:me:pw@tcp(host)/db":            "mysql:xxxxx@tcp(host)/db",
		"postgres://host/db?password=pw&a=pw": "postgres://host/db?password=xxxxx&a=xxxxx",
		"redis://me:p%zzw@host":               "redis://me:xxxxx@host",
		"mysql://host/db?durable=true":        "mysql://host/db?durable=true",
		"redis://me:p/pw?pw@host/0?loss=1s":   "redis://me:xxxxx@host/0?loss=1s",
		"nats://pw@host:1,host:2/bucket":      "nats://xxxxx@host:1,host:2/bucket",
		"file:/srv/a@b:c@d":                   "file:/srv/a@b:c@d",
		"etcd://a:1,b:2/p?x=pw;ca=/pki/ca":    "etcd://a:1,b:2/p?x=xxxxx&ca=/pki/ca",
		"me:pw@host":                          "me:xxxxx@host",
		"plain":                               "plain",
	} {
		if got := Redact(url); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
		if strings.Contains(Redact(url), "pw") {
			t.Errorf("%s: still shows the password", url)
		}
	}
}
