package redisstore_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/store/redisstore"
)

func TestURLMeansItsConfig(t *testing.T) {
	tests := []struct {
		url  string
		want redisstore.Config
	}{
		{"redis://localhost", redisstore.Config{Endpoints: []string{"localhost:6379"}}},
		{"redis://localhost:1234/7", redisstore.Config{Endpoints: []string{"localhost:1234"}, Database: 7}},
		{"redis://[::1]:1/", redisstore.Config{Endpoints: []string{"[::1]:1"}}},
		{"redis://[::1]", redisstore.Config{Endpoints: []string{"[::1]:6379"}}},
		{"redis://a,b:2,c", redisstore.Config{Endpoints: []string{"a:6379", "b:2", "c:6379"}}},
		{"redis://me:pa%2Fss%40@a", redisstore.Config{Endpoints: []string{"a:6379"}, User: "me", Password: "pa/ss@"}},
		{"redis://:secret@a", redisstore.Config{Endpoints: []string{"a:6379"}, Password: "secret"}},
		{"redis://:p@ss@a", redisstore.Config{Endpoints: []string{"a:6379"}, Password: "p@ss"}},
		{"redis://a?prefix=app:ids:&loss=2s&noeviction=true&replicated=true", redisstore.Config{
			Endpoints: []string{"a:6379"}, Prefix: "app:ids:", Loss: 2 * time.Second, NoEviction: true, Replicated: true}},
		{"redis://a?user=me&password-file=/run/secret", redisstore.Config{
			Endpoints: []string{"a:6379"}, User: "me", PasswordFile: "/run/secret"}},
		{"redis://a?durable=true", redisstore.Config{Endpoints: []string{"a:6379"}, Durable: true}},
		{"redis://a,b:1?sentinel=main&sentinel-user=s&sentinel-password-file=/f", redisstore.Config{
			Endpoints: []string{"a:26379", "b:1"}, Sentinel: "main", SentinelUser: "s", SentinelPasswordFile: "/f"}},
	}
	for _, test := range tests {
		got, err := redisstore.ParseURL(test.url)
		if err != nil {
			t.Errorf("%s: %v", test.url, err)
		}
		if shown(got) != shown(test.want) {
			t.Errorf("%s:\n got %s\nwant %s", test.url, shown(got), shown(test.want))
		}
	}
	for _, url := range []string{"rediss://a", "redis://a?tls=true", "rediss://a?tls=true"} {
		if c, err := redisstore.ParseURL(url); err != nil || c.TLS == nil {
			t.Errorf("%s: TLS %v, error %v", url, c.TLS, err)
		}
	}
}

func TestBadURLIsRefusedByWhatIsWrongAndShowsNoPassword(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ url, want string }{
		{"", "must begin with redis://"},
		{"http://a", "must begin with redis://"},
		{"redis:a", "must begin with redis://"},
		{"redis://", "host number 1"},
		{"redis://a,,b", "host number 2"},
		{"redis://a:", "host number 1"},
		{"redis://a:0", "host number 1"},
		{"redis://a:65536", "host number 1"},
		{"redis://a:hunter2", "host number 1"},
		{"redis://::1", "host number 1"},
		{"redis://u:hunter2/@a", "%XX"},
		{"redis://u:hunter2?x@a", "%XX"},
		{"redis://u:hunter2#x@a", "%XX"},
		{"redis://u:hun@ter2/hunter2@a", "%XX"},
		{"redis://u:hunter2%@a", "hexadecimal"},
		{"redis://a#x", "fragment"},
		{"redis://a/x", `database "x"`},
		{"redis://a/-1", `database "-1"`},
		{"redis://a/2147483648", "database"},
		{"redis://a?%", "query"},
		{"redis://a?unknown=1", `"unknown"`},
		{"redis://a?loss=1s&loss=2s", `"loss"`},
		{"redis://a?prefix=", `"prefix"`},
		{"redis://a?loss=soon", "loss"},
		{"redis://a?loss=0s", "loss"},
		{"redis://a?loss=-1s", "loss"},
		{"redis://a?durable=maybe", "durable"},
		{"redis://a?durable=true&loss=1s", "loss 1s"},
		{"redis://a?durable=true&sentinel=x", "Sentinel"},
		{"redis://a?durable=true&replicated=true", "replicated"},
		{"redis://a?cluster=true", "cluster mode is not supported"},
		{"redis://a?unknown=1&loss=1s", "known are ca, cert, durable, key, loss, noeviction, password-file, prefix, replicated, sentinel, sentinel-password-file, sentinel-user, tls, user"},
		{"redis://a?prefix=a*b", `prefix "a*b"`},
		{"redis://a?prefix=" + strings.Repeat("x", 129), "129 bytes"},
		{"redis://me:hunter2@a?user=you", "user"},
		{"redis://:hunter2@a?password-file=/f", "password-file"},
		{"redis://a?ca=/f", "tls=true"},
		{"rediss://a?tls=false", "tls"},
		{"rediss://a?cert=" + empty, "both or neither"},
	}
	for _, test := range tests {
		c, err := redisstore.ParseURL(test.url)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", test.url, err, test.want)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error shows the password: %v", test.url, err)
		}
		if shown(c) != shown(redisstore.Config{}) {
			t.Errorf("%s: a config comes with the error: %s", test.url, shown(c))
		}
	}
}

func TestFileThatCannotBeUsedIsNamedByOpenAlone(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"rediss://a?ca=/no/such/file":                               "ca: stat /no/such/file",
		"rediss://a?ca=/dev/zero":                                   "/dev/zero: must be a regular file",
		"rediss://a?ca=" + empty:                                    "must hold certificates in PEM",
		"rediss://a?cert=" + empty + "&key=" + empty:                "cert=",
		"redis://a?password-file=" + empty:                          "password-file: " + empty,
		"redis://a?sentinel=x&sentinel-password-file=/no/such/file": "password-file: stat /no/such/file",
	} {
		c, err := redisstore.ParseURL(url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
		}
		if err := c.CheckFiles(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: check: %v, want %q", url, err, want)
		}
		if _, err := redisstore.OpenURL(t.Context(), url); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: open: %v, want %q", url, err, want)
		}
	}
}

func TestConfigShowsNoPassword(t *testing.T) {
	c, err := redisstore.ParseURL("redis://me:hunter2@a")
	if err != nil || c.Password != "hunter2" {
		t.Fatal(string(c.Password), err)
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("opened", "store", c)
	slog.New(slog.NewTextHandler(&log, nil)).Info("opened", "store", c)
	inside := struct{ Store redisstore.Config }{c}
	for _, text := range []string{
		fmt.Sprint(c), fmt.Sprintf("%v %+v %#v %v", c, c, c, c), fmt.Sprintf("%v %+v %#v", &c, inside, inside), log.String(),
	} {
		if strings.Contains(text, "hunter2") || !strings.Contains(text, "me") {
			t.Errorf("it shows as %s", text)
		}
	}
}

func FuzzParseURL(f *testing.F) {
	f.Add("redis://me:hunter2@[::1]:1,b/0?prefix=a:&loss=1s&sentinel=x")
	f.Add("rediss://a?ca=/no&durable=true")
	f.Add("redis://u:hunter2/@a")
	f.Fuzz(func(t *testing.T, u string) {
		c, err := redisstore.ParseURL(u)
		if err != nil {
			return
		}
		if len(c.Endpoints) == 0 || c.Loss < 0 || c.Durable && c.Loss > 0 {
			t.Errorf("%q means %s", u, shown(c))
		}
		// A long password does not stand in what the config shows by chance.
		if len(c.Password) > 8 && !strings.Contains(strings.ReplaceAll(u, string(c.Password), ""), string(c.Password)) {
			rest := c
			rest.Password = ""
			if fmt.Sprint(rest) != strings.Replace(fmt.Sprint(c), "xxxxx", "", 1) {
				t.Errorf("%q shows its password as %v", u, c)
			}
		}
	})
}

// shown shows all of a config, passwords and all.
func shown(c redisstore.Config) string {
	c.TLS = nil
	return fmt.Sprintf("%+v with password %q", c, string(c.Password))
}
