package openstore

import (
	"slices"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/store/natsstore"
	"snowfence.example/snowfence/store/redisstore"
	"snowfence.example/snowfence/store/sqlstore"
)

// TestTableHasTheKeysOfEveryEngine asks each engine with servers for the keys that it
// knows: a key that the table lacks would be hidden from people.
func TestTableHasTheKeysOfEveryEngine(t *testing.T) {
	for _, e := range engines() {
		for _, scheme := range e.schemes {
			if e.keys == "" {
				continue
			}
			path := ""
			if e.database {
				path = "/db"
			}
			_, err := e.parse(scheme + "://me@a" + path + "?no-such-key=1")
			if err == nil {
				t.Errorf("%s: an unknown key is accepted", scheme)
				continue
			}
			_, list, _ := strings.Cut(err.Error(), "known are ")
			if want := slices.Sorted(slices.Values(strings.Fields(e.keys))); list != strings.Join(want, ", ") {
				t.Errorf("%s: the engine knows %s, the table %s", scheme, list, strings.Join(want, ", "))
			}
		}
	}
}

func TestTextIsToldToNameAStoreOrADatabase(t *testing.T) {
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
		"redis://h": redisstore.DefaultLoss, "redis://h?durable=true": 0, "rediss://h?loss=1m": time.Minute,
		"postgres://u:p%3Fw@h/d": sqlstore.DefaultLoss, "mysql://u@h/d?durable=false": sqlstore.DefaultLoss, "mariadb://u@h/d?durable=true": 0,
		"nats://h": natsstore.DefaultLoss, "nats://h?unsafe-ignore-loss=true": 0, "ftp://h": 0, "": 0,
	} {
		if got := Loss(url); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}
