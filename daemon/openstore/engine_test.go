package openstore

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"snowfence.example/snowfence/store"
)

func TestEverySchemeOpensItsEngine(t *testing.T) {
	directory := t.TempDir()
	for url, want := range map[string]string{
		"mem:":                                  "memory",
		"mem://":                                "memory",
		"file:" + filepath.Join(directory, "a"): "file",
		"file://" + filepath.Join(directory, "b"):           "file",
		"file://localhost" + filepath.Join(directory, "b%"): "file",
		"FILE:" + filepath.Join(directory, "c"):             "file",
	} {
		s := at(t, url)
		traits, err := s.Traits(t.Context())
		if err != nil || traits.Engine != want {
			t.Errorf("%s: engine is %q (%v), want %q", url, traits.Engine, err, want)
		}
		if _, err := s.Get(t.Context(), "a"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: a new store has a register: %v", url, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: close: %v", url, err)
		}
	}
}

func TestURLThatNamesNoStoreIsRefusedWithWhatIsSupported(t *testing.T) {
	for url, want := range map[string]string{
		"":                             "must begin with a scheme; supported are file:DIRECTORY, mem:",
		"/var/lib/snowfence":           "must begin with a scheme; supported are file:DIRECTORY, mem:",
		"consul://a:1/b":               "unknown scheme; supported are file:DIRECTORY, mem:",
		"file:":                        "must name a directory",
		"file:///":                     "must name a directory",
		"file://host/var/lib":          "must name no host",
		"mem:here":                     "nothing may stand after mem:",
		"ftp://me:pw@host/0":           "unknown scheme",
		"redis://me:pw@host/x":         "database",
		"etcd://me:pw@host?x=1":        "\"x\": is not a key of etcd://",
		"zookeeper://me:pw@":           "number 1",
		"postgres://me:pw@host":        "database",
		"mysql://me:pw@host":           "database",
		"nats://me:pw@host/bucket?x=1": "x",
	} {
		_, err := Open(t.Context(), url)
		var refused *URLError
		if !errors.As(err, &refused) || !strings.Contains(refused.Reason, want) {
			t.Errorf("%q: %v, want %q", url, err, want)
		}
		if check := Check(url); check == nil || check.Error() != err.Error() {
			t.Errorf("%q: Check returns %v, Open %v", url, check, err)
		}
		if strings.Contains(err.Error(), "pw") {
			t.Errorf("%q: the error shows the password: %v", url, err)
		}
	}
}
