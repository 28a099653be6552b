package config

import (
	"fmt"
	"strings"
	"testing"
)

// TestPathIsExpandedOrRefusedNeverTakenLiterally is about every setting that has a path: taken as it is written, such a
// path is a folder in each working directory, and so a space of ids in each.
func TestPathIsExpandedOrRefusedNeverTakenLiterally(t *testing.T) {
	environ := []string{"HOME=/home/me", "D=/srv", "END=/srv\n", "TILDE=~/x", "REL=rel", `QUOTED="/srv/q"`, "URL=file:/srv"}
	settings := map[string]string{ // the text around the path
		"store": "store: %q", "stores.a": "stores: {a: %q}", "data": "data: %q", "token-file": "token-file: %q",
		"tls.certificate": "tls: {certificate: %q}", "tls.key": "tls: {key: %q}", "tls.client-ca": "tls: {client-ca: %q}",
		"generators.codes.settings.key-file": "generators: {default: {}, codes: {kind: opaque, settings: {of: default, key-file: %q}}}",
	}
	for key, form := range settings {
		scheme := ""
		if newSchema().field(key).holds("url") {
			scheme = "file:"
		}
		for path, want := range map[string]string{"~/ids": "/home/me/ids", "/a/~/$5": "/a/~/$5", "${D}/ids": "/srv/ids", "${TILDE}": "/home/me/x"} {
			c, err := read(Sources{File: write(t, fmt.Sprintf(form, scheme+path)), Environ: environ, Kinds: []string{"opaque"}})
			if strings.Contains(path, "{") && scheme == "" { // variables are for stores alone
				if err == nil || !strings.Contains(err.Error(), "has ${…") {
					t.Errorf("%s: %s: %v", key, path, err)
				}
			} else if got := shown(t, c, key).Text; got != scheme+want {
				t.Errorf("%s: %s is %q, want %q", key, path, got, scheme+want)
			}
		}
		for _, path := range []string{
			"~", "~you/ids", "$HOME/ids", "/a/$(pwd)", "/a/${D:-y}", "/a/${NONE}/b", "/ids ", " /ids", "/ids\n", "/i\tds", "${END}/ids", "/ids/${END}",
			"${REL}", "${REL}/ids", "${QUOTED}", "${QUOTED}/ids", "${URL}", "x/${QUOTED}", `"/srv"`, "'/srv'/ids", `/srv/"ids"/a`, "%HOME%/ids", "/x/%DATA%",
			"{{ .Values.path }}/ids", "<path>", "/srv/<name>/ids",
		} {
			refused(t, path, Sources{File: write(t, fmt.Sprintf(form, scheme+path)), Environ: environ, Kinds: []string{"opaque"}}, key+":")
		}
	}
	for url, want := range map[string]string{
		"file:/p?durable=true": "must have no ?", "etcd://h/$NAME": "has $NAME…", "etcd://h/a%20": "no blank", "postgres://me@h/d?table=${X:-y}": "has ${…",
		"postgres://me:${END}@h/d": "variable END has a line break", "postgres://me:$PASSWORD@h/d": "has $NAME…",
		"redis://h/?prefix=~/x": "begins with ~", "nats://h/~ids": "begins with ~", "zookeeper://h/%0Aids": "no blank", "mysql://me@h/d?ca=~/ca.pem": "begins with ~",
	} {
		refused(t, url, Sources{Environ: environ, Flags: map[string]string{"store": url}}, want)
	}
}
