package zkstore_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/store/zkstore"
)

func TestURLIsTheConfig(t *testing.T) {
	for u, want := range map[string]zkstore.Config{
		"zookeeper://zk":                  {Endpoints: []string{"zk:2181"}},
		"zookeeper://zk/":                 {Endpoints: []string{"zk:2181"}},
		"zookeeper://a:1,b,[::1],[::2]:3": {Endpoints: []string{"a:1", "b:2181", "[::1]:2181", "[::2]:3"}},
		"zookeeper://me:p%40s%3As@a/x/y.z-1": {
			Endpoints: []string{"a:2181"}, User: "me", Password: "p@s:s", Prefix: "/x/y.z-1",
		},
		"zookeeper://a?user=me&password-file=/run/pw&acl=creator-read&session-timeout=6s&loss=1s": {
			Endpoints: []string{"a:2181"}, User: "me", PasswordFile: "/run/pw",
			ACL: zkstore.ACLCreatorRead, SessionTimeout: 6 * time.Second, Loss: time.Second,
		},
		"zookeeper://a/b?tls=false": {Endpoints: []string{"a:2181"}, Prefix: "/b"},
	} {
		got, err := zkstore.ParseURL(u)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %#v, %v, want %#v", u, got, err, want)
		}
	}
	c, err := zkstore.ParseURL("zookeeper://a?tls=true")
	if err != nil || c.TLS == nil {
		t.Errorf("tls=true: %v, %v", c, err)
	}
}

func TestBadURLIsRefusedByItsBadPart(t *testing.T) {
	for u, want := range map[string]string{
		"":                                          "zookeeper://",
		"zk://a/b":                                  "zookeeper://",
		"zookeeper://":                              "host number 1",
		"zookeeper://a,/b":                          "host number 2",
		"zookeeper://a:0":                           "host number 1",
		"zookeeper://a:65536":                       "host number 1",
		"zookeeper://a:1:2":                         "host number 1",
		"zookeeper://[::1":                          "host number 1",
		"zookeeper://a/b#c":                         "fragment",
		"zookeeper://me:s3cr3t/x@a":                 "%XX",
		"zookeeper://me:s3cr3t%zz@a":                "hexadecimal",
		"zookeeper://me:s3cr3t":                     "host number 1",
		"zookeeper://:s3cr3t@a":                     "needs a user",
		"zookeeper://a?password-file=/x":            "needs a user",
		"zookeeper://me:s3cr3t@a?password-file=x":   "password-file",
		"zookeeper://me:s3cr3t@a?user=you":          "user",
		"zookeeper://m%3Ae:s3cr3t@a":                "colon",
		"zookeeper://a/b//c":                        "empty",
		"zookeeper://a/b/":                          "empty",
		"zookeeper://a/b/../c":                      "empty",
		"zookeeper://a/zookeeper":                   "ZooKeeper's own",
		"zookeeper://a/b%20c":                       "must be one of",
		"zookeeper://a/" + strings.Repeat("x", 128): "at most 128",
		"zookeeper://a?acl=creator":                 "needs a user",
		"zookeeper://a?acl=everybody":               "acl",
		"zookeeper://a?loss=0":                      "loss",
		"zookeeper://a?loss=-1s":                    "loss",
		"zookeeper://a?session-timeout=1ms":         "session-timeout",
		"zookeeper://a?session-timeout=soon":        "session-timeout",
		"zookeeper://a?tls=perhaps":                 "tls",
		"zookeeper://a?ca=/x":                       "tls=true",
		"zookeeper://a?tls=true&cert=/x":            "both or neither",
		"zookeeper://a?colour=red":                  "colour",
		"zookeeper://a?loss=1s&loss=2s":             "once",
		"zookeeper://a?loss":                        "with a value",
		"zookeeper://a?loss=%zz":                    "key=value",
	} {
		_, err := zkstore.ParseURL(u)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: error %v, want one with %q", u, err, want)
		}
	}
}

func TestPasswordIsNeverShown(t *testing.T) {
	c, err := zkstore.ParseURL("zookeeper://me:s3cr3t@a:1/b?acl=creator&loss=1s")
	if err != nil {
		t.Fatal(err)
	}
	var logged strings.Builder
	slog.New(slog.NewTextHandler(&logged, nil)).Info("config", "config", c)
	marshalled, err := json.Marshal([]any{c})
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{
		logged.String(), string(marshalled), fmt.Sprintf("%v", c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c), fmt.Sprint(&c),
	} {
		if strings.Contains(shown, "s3cr3t") || !strings.Contains(shown, "me") {
			t.Errorf("shown as %s", shown)
		}
	}
}

func TestFileOfTLSIsReadByOpen(t *testing.T) {
	const url = "zookeeper://a?tls=true&ca=/does/not/exist"
	c, err := zkstore.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CheckFiles(); err == nil || !strings.Contains(err.Error(), "ca: stat /does/not/exist") {
		t.Errorf("check: %v", err)
	}
	if _, err := zkstore.OpenURL(t.Context(), url); err == nil || !strings.Contains(err.Error(), "ca: stat /does/not/exist") {
		t.Errorf("open: %v", err)
	}
}

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
