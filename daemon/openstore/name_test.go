package openstore_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/store"
)

// A journal's page is used on the store whose name it has. So two stores must not share a name, and the
// name leaves out every part that does not identify the store: passwords, certificates, losses.
func TestNameOfAStoreSaysWhichOneItIs(t *testing.T) {
	named := func(url string) string { // nothing is opened
		t.Helper()
		s, err := openstore.Lazy(url, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close() //nolint:errcheck // nothing was opened
		return store.NameOf(s)
	}
	folder := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		same      []string // names of one store
		different []string // each of another one
	}{
		{[]string{"redis://a,B:7", "redis://u:secret@b:7,a:6379/0?loss=1s", "rediss://a,b:7?prefix=snowfence:"},
			[]string{"redis://a", "redis://a,b:7/1", "redis://a,b:7?prefix=other:", "redis://a,b:7?sentinel=s", "redis://a:6380,b:7"}},
		{[]string{"etcd://a,b", "etcds://u:secret@b:2379,a"}, []string{"etcd://a", "etcd://a,b/p"}},
		{[]string{"zookeeper://a", "zookeeper://u:secret@A:2181?loss=9s"}, []string{"zookeeper://a/p"}},
		{[]string{"nats://a", "nats://secret@a:4222?durable=true"}, []string{"nats://u:secret@a", "nats://a/bucket", "nats://a?prefix=p", "nats://a?creds=f"}},
		{[]string{"postgres://u:secret@a/d", "postgresql://u@A:5432/d?durable=true&tls=true"},
			[]string{"postgres://v@a/d", "postgres://u@a/e", "postgres://u@a/d?table=t", "postgres://u@b/d", "mysql://u@a:5432/d"}},
		{[]string{"postgres://u@a/d?table=s.t", "postgres://v@a/d?table=s.t"}, nil},
		{[]string{"mysql://u:secret@a/d", "mariadb://v@a:3306/d"}, []string{"mysql://u@a/e"}},
		{[]string{"file:" + folder, "file://" + link, "file:" + folder + "/."}, []string{"file:" + filepath.Dir(folder)}},
	} {
		name := named(test.same[0])
		for _, url := range test.same {
			if got := named(url); got != name || got == "" || strings.Contains(got, "secret") {
				t.Errorf("%s is named %s, want %s", engine.Redact(url), got, name)
			}
		}
		for _, url := range test.different {
			if got := named(url); got == name {
				t.Errorf("%s is named %s, as %s is", url, got, test.same[0])
			}
		}
	}
}
