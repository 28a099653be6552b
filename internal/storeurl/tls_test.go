//go:build unix

package storeurl

import (
	"errors"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
)

func TestTLSIsWhatTheURLAsksFor(t *testing.T) {
	authority := testkit.NewAuthority(t)
	cert, key := authority.Issue(t, "client")
	for raw, want := range map[string]string{
		"a://h":                                  "none",
		"as://h":                                 "",
		"a://h?tls=true":                         "",
		"as://h?tls=false":                       "tls=false: must not be given with as://",
		"a://h?ca=" + authority.File:             "need tls=true",
		"a://h?tls=true&ca=" + authority.File:    "",
		"a://h?tls=true&ca=" + key:               "must hold certificates",
		"as://h?cert=" + cert:                    "both or neither",
		"as://h?cert=" + cert + "&key=" + key:    "",
		"as://h?cert=" + key + "&key=" + cert:    "with key=",
		"as://h?ca=/nowhere":                     "/nowhere",
		"as://h?ca=/dev/zero":                    "/dev/zero: must be a regular file",
		"as://h?cert=/nowhere&key=/nowhere/else": "cert: ",
		"as://h?cert=" + cert + "&key=/nowhere":  "key: ",
	} {
		u := parse(t, raw)
		files := u.TLS(u.Scheme == "as")
		err := u.Done()
		if strings.Contains(raw, "/nowhere") && err != nil {
			t.Errorf("%s: parsing opened a file: %v", raw, err)
		}
		config, loadErr := files.Load()
		err = errors.Join(err, loadErr)
		switch {
		case want == "" || want == "none":
			if err != nil || (config == nil) != (want == "none") {
				t.Errorf("%s: %v, %v", raw, config, err)
			}
		case err == nil || !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
	}
}
