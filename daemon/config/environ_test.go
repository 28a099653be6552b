package config

import (
	"strings"
	"testing"

	"snowfence.example/snowfence/daemon/engine"
)

func TestVariablesOfTheStoreURLAreReplacedAndEscaped(t *testing.T) {
	environ := []string{"PASSWORD=p/w @:?#%", "HOST=db"}
	for url, want := range map[string]string{
		"redis://me:${PASSWORD}@${HOST}/0": "redis://me:p%2Fw%20%40%3A%3F%23%25@db/0",
		"redis://host/0":                   "redis://host/0",
		"redis://me:$PASSWORD@host":        "redis://me:$PASSWORD@host",
		"file:/srv/${HOST}":                "file:/srv/db",
	} {
		if got, err := Expand(url, environ); err != nil || got != want {
			t.Errorf("%s: %s (%v), want %s", url, got, err, want)
		}
		if got := engine.Redact(want); strings.Contains(got, "p%2Fw") {
			t.Errorf("%s: shows the password: %s", url, got)
		}
	}
}

func TestVariableThatIsNotSetIsAFaultOfTheStore(t *testing.T) {
	_, err := read(Sources{
		Environ: []string{"HOME=/tmp", "SET=1"},
		Flags:   map[string]string{"store": "mem://${NOT_SET}${SET}"},
	})
	if err == nil || !strings.Contains(err.Error(), "NOT_SET is not set") || !strings.Contains(err.Error(), "--store") {
		t.Errorf("error is %v", err)
	}
}
