package zkstore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"snowfence.example/snowfence/store/zkstore"
)

func TestPasswordFileIsReadByOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "password")
	c := zkstore.Config{Endpoints: []string{"a:1"}, User: "me", PasswordFile: path}
	if _, err := zkstore.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "password-file") {
		t.Errorf("open without the file: %v", err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("x", 1<<17)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := zkstore.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("open with a password that is too long: %v", err)
	}
}

func FuzzParseURL(f *testing.F) {
	for _, u := range []string{
		"zookeeper://a", "zookeeper://me:pw@a:1,b:2/c/d?loss=1s&acl=open", "zookeeper://[::1]:2181/?user=x",
		"zookeeper://@/?", "zookeeper://%@a", "zookeeper://a?session-timeout=4s",
	} {
		f.Add(u)
	}
	f.Fuzz(func(t *testing.T, u string) {
		if strings.Contains(u, "ca") || strings.Contains(u, "cert") || strings.Contains(u, "key") || strings.Contains(u, "%") {
			return // no file of this machine's
		}
		c, err := zkstore.ParseURL(u)
		if err != nil {
			return
		}
		if len(c.Endpoints) == 0 {
			t.Errorf("%q has no endpoint", u)
		}
		if len(c.Password) > 8 && strings.Contains(fmt.Sprintf("%+v", c), string(c.Password)) && !strings.Contains(c.User, string(c.Password)) {
			t.Errorf("%q shows its password", u)
		}
	})
}
