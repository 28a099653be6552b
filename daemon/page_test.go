package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"snowfence.example/snowfence/daemon/internal/view"
)

// TestCommandsOnThePageMeanTheDaemonsNamespaces has the flags that a command needs to find the same place from another shell.
func TestCommandsOnThePageMeanTheDaemonsNamespaces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "snowfence.yaml")
	place := func(text string) (p view.Place) {
		p.StoreName, p.Namespace, _ = strings.Cut(text, "/")
		return p
	}
	for name, x := range map[string]struct {
		text  string // of the file; none if it is empty
		flags map[string]string
		env   string
		want  map[string]string // by STORE/NAMESPACE; FILE stands for the file
	}{
		"store of a flag": {"", map[string]string{"store": "redis://host:6379"}, "", map[string]string{"/default": " --store redis://host:6379"}},
		"password":        {"", map[string]string{"store": "redis://:secret@host"}, "", map[string]string{"/default": ` --store "$SNOWFENCE_STORE"`}},
		"folder":          {"", map[string]string{"data": "/srv/a b"}, "", map[string]string{"/default": " --store 'file:/srv/a b/store'"}},
		"namespace": {"", map[string]string{"store": "mem:", "namespace": "orders"}, "", map[string]string{
			"/orders": " --store mem: --namespace orders",
		}},
		"file":                    {"store: redis://:secret@host\n", nil, "", map[string]string{"/default": " --config FILE"}},
		"file of a variable":      {"data: data\n", nil, "SNOWFENCE_CONFIG=FILE", map[string]string{"/default": " --config FILE"}},
		"flag in place of a file": {"store: redis://host\n", map[string]string{"store": "mem:"}, "", map[string]string{"/default": " --config FILE --store mem:"}},
		"data that no file names": {"http: 127.0.0.1:7600\n", map[string]string{"data": "/srv/ids"}, "", map[string]string{"/default": " --config FILE --store file:/srv/ids/store"}},
		"several": {"store: 'mem:'\nstores: {eu: 'redis://host'}\ngenerators: {a: {}, b: {namespace: b}, c: {store: eu, namespace: c}}\n", nil, "", map[string]string{
			"/default": " --config FILE --namespace default", "/b": " --config FILE --namespace b", "eu/c": " --config FILE --store eu --namespace c",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			sources := Sources{Flags: x.flags, Environ: []string{"HOME=/home/ids"}}
			if err := os.WriteFile(file, []byte(x.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if x.env != "" {
				sources.Environ = append(sources.Environ, strings.Replace(x.env, "FILE", file, 1))
			} else if x.text != "" {
				sources.File = file
			}
			settings, err := Load(sources)
			if err != nil {
				t.Fatal(err)
			}
			d := &daemon{config: Config{File: sources.File}, settings: settings}
			got := d.flags()
			for at, want := range x.want {
				if want = strings.Replace(want, "FILE", file, 1); got[place(at)] != want {
					t.Errorf("%s has %q, want %q", at, got[place(at)], want)
				}
			}
			if len(got) != len(x.want) {
				t.Errorf("flags are of %d places: %q", len(got), got)
			}
		})
	}
}
