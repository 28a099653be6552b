package openstore

import (
	"context"
	"errors"
	"os"
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

func TestStoreThatHasToExistIsNotMade(t *testing.T) {
	directory := t.TempDir()
	at := "file:" + filepath.Join(directory, "typo")
	if _, err := OpenExisting(t.Context(), at); !Missing(err) || !strings.HasPrefix(err.Error(), at+": ") {
		t.Errorf("%v, want that nothing is at %s", err, at)
	}
	if names, err := os.ReadDir(directory); err != nil || len(names) > 0 {
		t.Errorf("the folder holds %v now, %v", names, err)
	}
	if _, err := OpenExisting(t.Context(), "file:"+filepath.Join(directory, "typo\x00")); err == nil || Missing(err) {
		t.Errorf("a folder that can't be looked for: %v", err)
	}
	var refused *URLError
	if _, err := OpenExisting(t.Context(), "consul://a"); !errors.As(err, &refused) || Missing(err) {
		t.Errorf("no store's URL: %v", err)
	}
	for _, url := range []string{at, "mem://"} {
		for _, open := range []func(context.Context, string) (store.Store, error){Open, OpenExisting} {
			if err := opened(t, func() (store.Store, error) { return open(t.Context(), url) }).Close(); err != nil {
				t.Errorf("%s: close: %v", url, err)
			}
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
			t.Errorf("%q: Check says %v, Open %v", url, check, err)
		}
		if strings.Contains(err.Error(), "pw") {
			t.Errorf("%q: the error shows the password: %v", url, err)
		}
	}
}

func TestFilesThatAURLNamesAreReadByWhatOpensItAlone(t *testing.T) {
	for url, want := range map[string]string{
		"etcds://a?ca=/no/file":                   "ca: ",
		"zookeeper://me@a?password-file=/no/file": "password-file: ",
		"rediss://a?cert=/no/file&key=/no/file":   "cert: ",
		"postgres://me@a/db?tls=true&ca=/no/file": "ca: ",
		"nats://a?creds=/no/file":                 "creds: ",
	} {
		if err := Check(url); err != nil {
			t.Errorf("%s: Check reads files: %v", url, err)
		}
		_, openErr := Open(t.Context(), url)
		for name, err := range map[string]error{"CheckFiles": CheckFiles(url), "Open": openErr} {
			var refused *URLError
			if !errors.As(err, &refused) || !strings.Contains(refused.Reason, want) || !strings.Contains(refused.Reason, "/no/file") {
				t.Errorf("%s: %s: %v, want %q and the file", url, name, err, want)
			}
		}
		if _, err := lazyAt(t, url, nil).Get(t.Context(), "key"); err == nil || !strings.Contains(err.Error(), "/no/file") {
			t.Errorf("%s: a lazy store's call: %v", url, err)
		}
	}
}
