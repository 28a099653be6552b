package natsstore

import (
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

func TestURLMeansItsConfig(t *testing.T) {
	tests := []struct {
		url  string
		want Config
	}{
		{"nats://h", Config{Endpoints: []string{"h:4222"}}},
		{"nats://h:1/bucket", Config{Endpoints: []string{"h:1"}, Bucket: "bucket"}},
		{"nats://u:p%40w@a:1,b,[::1]:3,[::2]/", Config{Endpoints: []string{"a:1", "b:4222", "[::1]:3", "[::2]:4222"}, User: "u", Password: "p@w"}},
		{"nats://h?loss=5s&replicas=3&prefix=p", Config{Endpoints: []string{"h:4222"}, Loss: 5 * time.Second, Replicas: 3, Prefix: "p"}},
		{"nats://h?durable=true&user=u&password-file=/f", Config{Endpoints: []string{"h:4222"}, Durable: true, User: "u", PasswordFile: "/f"}},
		{"nats://h?creds=/c&unsafe-ignore-loss=true", Config{Endpoints: []string{"h:4222"}, CredsFile: "/c", UnsafeIgnoreLoss: true}},
		{"nats://h?nkey=/n&tls=false", Config{Endpoints: []string{"h:4222"}, NKeyFile: "/n"}},
		{"nats://h?token-file=/t", Config{Endpoints: []string{"h:4222"}, TokenFile: "/t"}},
	}
	for _, test := range tests {
		c, err := ParseURL(test.url)
		if err != nil {
			t.Errorf("%s: %v", test.url, err)
			continue
		}
		if !reflect.DeepEqual(c, test.want) {
			t.Errorf("%s means %#v with password %q, want %#v", test.url, c, string(c.Password), test.want)
		}
	}
	if c, err := ParseURL("nats://h?tls=true"); err != nil || c.TLS == nil {
		t.Errorf("tls=true: %+v, %v", c, err)
	}
}

func TestURLThatIsWrongIsRefusedByName(t *testing.T) {
	tests := []struct{ url, names string }{
		{"", "nats://"},
		{"redis://h", "nats://"},
		{"nats://", "host number 1"},
		{"nats://h:0", "host number 1"},
		{"nats://h:x", "host number 1"},
		{"nats://h/a/b", "bucket"},
		{"nats://h/a.b", "bucket"},
		{"nats://h/b#f", "fragment"},
		{"nats://u:s3cret/x@h/b", "@"},
		{"nats://u:s3cret%zz@h/b", "hexadecimal"},
		{"nats://u:s3cret:1", "host number 1"},
		{"nats://:s3cret@h", "user"},
		{"nats://h?prefix=a.b", "prefix"},
		{"nats://h?replicas=6", "replicas"},
		{"nats://h?replicas=x", "replicas"},
		{"nats://h?loss=0s", "loss"},
		{"nats://h?loss=-1s", "loss"},
		{"nats://h?loss=5s&durable=true", "loss"},
		{"nats://h?loss=5s&unsafe-ignore-loss=true", "unsafe-ignore-loss"},
		{"nats://h?durable=true&unsafe-ignore-loss=true", "unsafe-ignore-loss"},
		{"nats://h?durable=maybe", "durable"},
		{"nats://h?color=red", "color"},
		{"nats://h?loss=1s&loss=2s", "loss"},
		{"nats://h?%zz", "query"},
		{"nats://h?ca=/nowhere", "tls"},
		{"nats://h?tls=true&cert=/nowhere", "cert"},
		{"nats://h?creds=/a&nkey=/b", "creds"},
		{"nats://u:s3cret@h?token-file=/t", "token-file"},
		{"nats://u@h?user=v", "user"},
		{"nats://h?password-file=/f", "user"},
	}
	for _, test := range tests {
		_, err := ParseURL(test.url)
		if err == nil || !strings.Contains(err.Error(), test.names) {
			t.Errorf("%s: error %v, must name %s", test.url, err, test.names)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the error shows the password: %v", test.url, err)
		}
	}
}

func TestFileThatCannotBeUsedIsNamedByOpenAlone(t *testing.T) {
	for query, want := range map[string]string{
		"tls=true&ca=/nowhere":          "ca: stat /nowhere",
		"tls=true&ca=/dev/zero":         "/dev/zero: must be a regular file",
		"user=u&password-file=/nowhere": "password-file: stat /nowhere",
		"token-file=/nowhere":           "token-file: stat /nowhere",
		"creds=/nowhere":                "creds: stat /nowhere",
		"nkey=/nowhere":                 "nkey: stat /nowhere",
	} {
		c, err := ParseURL("nats://h?" + query)
		if err != nil {
			t.Errorf("%s: %v", query, err)
		}
		if err := c.CheckFiles(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: check: %v, want %q", query, err, want)
		}
		if _, err := OpenURL(t.Context(), "nats://h?"+query); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: open: %v, want %q", query, err, want)
		}
	}
}

func TestPasswordIsNeverShown(t *testing.T) {
	c, err := ParseURL("nats://u:s3cret@127.0.0.1:1/b?loss=1s")
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("config", "config", c)
	_, err = Open(t.Context(), c)
	for _, shown := range []string{fmt.Sprint(c), fmt.Sprintf("%+v %#v %v %v", c, c, &c, c), log.String(), fmt.Sprint(err)} {
		if strings.Contains(shown, "s3cret") {
			t.Errorf("the password is shown: %s", shown)
		}
	}
	if err == nil {
		t.Error("there is a server at port 1")
	}
}

func TestWarningsAndTraitsSayWhatIsAsserted(t *testing.T) {
	tests := []struct {
		query string
		want  store.Traits
		warns bool
	}{
		{"", store.Traits{Engine: "nats", Loss: DefaultLoss}, false},
		{"loss=5s", store.Traits{Engine: "nats", Loss: 5 * time.Second}, false},
		{"durable=true", store.Traits{Engine: "nats", Durable: true}, false},
		{"unsafe-ignore-loss=true", store.Traits{Engine: "nats", Durable: true}, true},
	}
	for _, test := range tests {
		c, err := ParseURL("nats://h?" + test.query)
		if err == nil {
			c, err = c.withDefaults()
		}
		if err != nil {
			t.Fatal(err)
		}
		s := &Store{config: c, life: storeclient.Begin()}
		traits, err := s.Traits(t.Context())
		if err != nil || traits != test.want || traits.Validate() != nil {
			t.Errorf("%q: %+v, %v", test.query, traits, err)
		}
		if warns := len(s.Warnings()) > 0; warns != test.warns {
			t.Errorf("%q: warnings %q", test.query, s.Warnings())
		}
	}
}

func FuzzParseURL(f *testing.F) {
	for _, u := range []string{
		"nats://u:pass@a:1,b/bucket?loss=5s&replicas=3", "nats://h?durable=true", "nats://[::1]", "nats://h/b?unsafe-ignore-loss=true",
		"nats://", "nats://u:p@h@i", "nats://h?tls=true", "nats://%zz@h",
	} {
		f.Add(u)
	}
	f.Fuzz(func(t *testing.T, u string) {
		c, err := ParseURL(u)
		if err != nil {
			return
		}
		if _, err := c.withDefaults(); err != nil {
			t.Fatalf("%q is taken, and then refused: %v", u, err)
		}
		if len(c.Password) > 8 && strings.Contains(fmt.Sprint(c), string(c.Password)) && !strings.Contains(strings.Join(c.Endpoints, ",")+c.Bucket+c.Prefix+c.User+fmt.Sprint(c.PasswordFile, c.TokenFile, c.CredsFile, c.NKeyFile), string(c.Password)) {
			t.Fatalf("%q shows its password: %v", u, c)
		}
	})
}
