package servertest

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"strings"
	"testing"
)

// URLs is the part of an engine's table that is about URLs. Package storeurl's own tests hold the
// rules of hosts, logins and escapes; these are about the engine's keys.
type URLs struct {
	// Parse returns the config that a URL means, and CheckFiles checks its files. Required.
	Parse func(url string) (Config, error)

	Meaning map[string]Config // the meaning of a URL
	Bad     map[string]string // a part of the error that refuses a URL
	Files   map[string]string // by a query that names a file that does not exist, the field in the error
}

// Config is an engine's config.
type Config interface {
	CheckFiles() error
}

// Parser makes an engine's ParseURL fit the table.
func Parser[C Config](parse func(string) (C, error)) func(string) (Config, error) {
	return func(url string) (Config, error) { return parse(url) }
}

// show shows something in all ways, as text and in logs.
func show(v any) string {
	encoded, err := json.Marshal([]any{v})
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("json", "value", v)
	slog.New(slog.NewTextHandler(&log, nil)).Info("text", "value", v)
	return fmt.Sprintf("%v %+v %#v %s %q %v %s %v %s", v, v, v, v, v, []any{v}, encoded, err, &log)
}

func urlMeansItsConfig(t *testing.T, b bed) {
	for url, want := range b.Meaning {
		if got, err := b.Parse(url); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", url, got, err, want)
		}
	}
}

func badURLIsRefused(t *testing.T, b bed) {
	for url, want := range b.Bad {
		c, err := b.Parse(url)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: error %v, want one with %q", url, err, want)
		}
		if !reflect.ValueOf(c).IsZero() {
			t.Errorf("%s: a config comes with the error: %v", url, c)
		}
	}
}

func unusableFileIsNamed(t *testing.T, b bed) {
	const file = "/no/such/file"
	files := maps.Clone(b.Files)
	if files == nil {
		files = map[string]string{}
	}
	if !b.Hostless {
		files["tls=true&ca="+file] = "ca: "
		files["tls=true&cert="+file+"&key="+file] = "cert: "
		files["user=me&password-file="+file] = "password-file: "
	}
	for query, want := range files {
		p := b.at()
		p.Query = query
		u := b.URL(p)
		c, err := b.Parse(u)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		_, opened := b.Open(t.Context(), u)
		for name, err := range map[string]error{"check": c.CheckFiles(), "open": opened} {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) {
				t.Errorf("%s: %s: %v, want %q and the file", query, name, err, want)
			}
		}
	}
}

func passwordIsNeverShown(t *testing.T, b bed) {
	p := b.at("127.0.0.1:1")
	p.User, p.Password = "somebody", secret
	c, err := b.Parse(b.URL(p))
	if err != nil {
		t.Fatal(err)
	}
	if shown := show(c); strings.Contains(shown, secret) || !strings.Contains(shown, p.User) {
		t.Errorf("the config is shown as %s", shown)
	}
}
