package etcdstore_test

import (
	"strings"
	"testing"

	"snowfence.example/snowfence/store/etcdstore"
)

func FuzzParseURL(f *testing.F) {
	f.Add("etcd://me:pw@a:1,[::1]/prefix?loss=1s")
	f.Fuzz(func(t *testing.T, url string) {
		c, err := etcdstore.ParseURL(url)
		if err == nil && (len(c.Endpoints) == 0 || strings.HasSuffix(c.Prefix, "/") || c.Loss < 0) {
			t.Errorf("%q: %v", url, c)
		}
	})
}
