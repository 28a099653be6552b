package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/openstore"
)

func write(t testing.TB, content string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "snowfence.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(s Sources) (Config, error) {
	s.CheckURL = openstore.Check
	return Load(s)
}

func load(t testing.TB, s Sources) Config {
	t.Helper()
	s.Environ = append([]string{"HOME=/home/someone"}, s.Environ...)
	c, err := read(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// refused holds that sources can't be used, with an error that has a text.
func refused(t testing.TB, what string, s Sources, want string) {
	t.Helper()
	if !slices.ContainsFunc(s.Environ, func(pair string) bool { return strings.HasPrefix(pair, "HOME=") }) {
		s.Environ = append(s.Environ, "HOME=/h")
	}
	if _, err := read(s); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %.300v, want %q", what, err, want)
	}
}

func shown(t testing.TB, c Config, key string) Value {
	t.Helper()
	for _, v := range c.Values() {
		if v.Key == key {
			return v
		}
	}
	t.Fatalf("no value is shown for %s", key)
	return Value{}
}

func TestNothingSetIsADaemonOnLoopbackWithOneGenerator(t *testing.T) {
	c := load(t, Sources{})
	if c.HTTP != "127.0.0.1:7600" || c.Store != "file:/home/someone/.local/state/snowfence/store" {
		t.Errorf("HTTP is %q, store %q", c.HTTP, c.Store)
	}
	if names := c.Names(); !slices.Equal(names, []string{"default"}) {
		t.Fatalf("generators are %q, want default alone", names)
	}
	g := c.Generators["default"].InEffect()
	if g.Namespace != "default" || !g.Layout.Equal(snowfence.DefaultLayout()) || g.Kind != KindSnowflake {
		t.Errorf("the generator is %+v", g)
	}
	if g.Window != time.Minute || g.ClaimWait != 65*time.Second {
		t.Errorf("window is %s, claim-wait %s, want 1m and 1m5s", g.Window, g.ClaimWait)
	}
}

func TestFlagBeatsVariableBeatsFileBeatsDefault(t *testing.T) {
	file := write(t, "namespace: from-file\n")
	variable, flag := []string{"SNOWFENCE_NAMESPACE=from-variable"}, map[string]string{"namespace": "from-flag"}
	for _, c := range []struct {
		sources      Sources
		want, origin string
	}{
		{Sources{}, "default", "default"},
		{Sources{File: file}, "from-file", file + ":1:12"},
		{Sources{Environ: []string{"SNOWFENCE_CONFIG=" + file}}, "from-file", file + ":1:12"},
		{Sources{File: file, Environ: variable}, "from-variable", "$SNOWFENCE_NAMESPACE"},
		{Sources{File: file, Environ: variable, Flags: flag}, "from-flag", "--namespace"},
	} {
		got := load(t, c.sources)
		for _, key := range []string{"namespace", "generators.default.namespace"} { // a generator that sets none of its own follows
			if v := shown(t, got, key); v.Text != c.want || v.Origin.String() != c.origin {
				t.Errorf("%s is %q from %s, want %q from %s", key, v.Text, v.Origin, c.want, c.origin)
			}
		}
	}
}

func TestPresetBringsLayoutAndPolicyAndYieldsToWhatIsSet(t *testing.T) {
	file := write(t, `
generators:
  plain: {preset: twitter, namespace: a}
  mixed: {preset: twitter, namespace: b, layout: twitter@2026-01-01, policy: {max-burst: 20ms}}
`)
	c := load(t, Sources{File: file})
	preset, err := snowfence.PresetByName("twitter")
	if err != nil {
		t.Fatal(err)
	}
	if g := c.Generators["plain"].InEffect(); !g.Layout.Equal(preset.Layout) || g.Policy != preset.Policy.WithDefaults(g.Layout) {
		t.Errorf("plain has layout %s and policy %+v", g.Layout, g.Policy)
	}
	mixed := c.Generators["mixed"].InEffect()
	want := preset.Policy
	want.MaxBurst = 20 * time.Millisecond
	want = want.WithDefaults(mixed.Layout)
	if mixed.Layout.Equal(preset.Layout) || mixed.Policy != want {
		t.Errorf("mixed has layout %s and policy %+v, want %+v", mixed.Layout, mixed.Policy, want)
	}
	if v := shown(t, c, "generators.plain.policy.max-rollback"); v.Text != "1ns" || v.Origin.Line != 3 {
		t.Errorf("max-rollback is %s from %s, want 1ns from where the preset is named", v.Text, v.Origin)
	}
}

func TestGeneratorIsNamedByItsMerePresence(t *testing.T) {
	c := load(t, Sources{
		File:    write(t, "generators: {orders: , invoices: {}}"),
		Environ: []string{"SNOWFENCE_GENERATORS_EU_ORDERS_WINDOW=10s"},
	})
	if got := c.Names(); !slices.Equal(got, []string{"eu-orders", "invoices", "orders"}) {
		t.Errorf("generators are %q", got)
	}
}

func TestStateDirectoryIsWhatTheEnvironmentSays(t *testing.T) {
	for environ, want := range map[string]string{
		"STATE_DIRECTORY=/var/lib/snowfence:/var/lib/other XDG_STATE_HOME=/x HOME=/h": "/var/lib/snowfence",
		"STATE_DIRECTORY= HOME=/h": "/h/.local/state/snowfence", "XDG_STATE_HOME=/x HOME=/h": "/x/snowfence",
		"XDG_STATE_HOME=relative HOME=/h": "/h/.local/state/snowfence", "HOME=/other HOME=/h": "/h/.local/state/snowfence", "": "",
	} {
		if got, _ := read(Sources{Environ: strings.Fields(environ)}); got.Data != want {
			t.Errorf("%s: %q, want %q", environ, got.Data, want)
		}
	}
	for _, directory := range []string{"rel", `"/q"`, "a:/b", "/var/lib/${X}", "/ids\n"} {
		refused(t, directory, Sources{Environ: []string{"STATE_DIRECTORY=" + directory}}, "$STATE_DIRECTORY: data: ")
		if c, err := read(Sources{Environ: []string{"STATE_DIRECTORY=" + directory}, Flags: map[string]string{"data": "/d"}}); err != nil || c.Data != "/d" {
			t.Errorf("%q stands in the way of --data: %q, %v", directory, c.Data, err)
		}
	}
}

func TestNoDirectoryIsNeededWithAStore(t *testing.T) {
	for environ, want := range map[string]string{"OTHER=1": "set --data, $SNOWFENCE_DATA or store", "SNOWFENCE_STORE=mem:": "<nil>"} {
		if _, err := read(Sources{Environ: []string{environ}}); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v, want %s", environ, err, want)
		}
	}
}

func TestListIsWrittenAsOneOrAsText(t *testing.T) {
	for _, file := range []string{
		"hosts: [a, b]\ngenerators: {a: {preset: twitter, datacenters: [0, 1]}}",
		"hosts:\n- a\n- b\ngenerators: {a: {preset: twitter, datacenters: '0, 1'}}",
		"hosts: a, b\ngenerators: {a: {preset: twitter, datacenters: '0,1'}}",
	} {
		c := load(t, Sources{File: write(t, file)})
		if got := c.Generators["a"].Datacenters; !slices.Equal(c.Hosts, []string{"a", "b"}) || !slices.Equal(got, []int64{0, 1}) {
			t.Errorf("%s: hosts are %q, datacenters %d", file, c.Hosts, got)
		}
	}
}

func TestSizeIsWrittenInBytesOrInAUnit(t *testing.T) {
	for written, want := range map[string]int{"2048": 2048, "2KiB": 2048, "0.5MiB": 1 << 19, "2K": 2048} {
		c := load(t, Sources{File: write(t, "limits: {body: "+written+"}")})
		if c.Limits.Body != want {
			t.Errorf("%s: %d bytes, want %d", written, c.Limits.Body, want)
		}
	}
}

func TestStoresAreNamedAndGivenToGenerators(t *testing.T) {
	c := load(t, Sources{
		File: write(t, `stores: {shop: "postgres://u:${PASSWORD}@db/shop", cache: mem://}
generators:
  orders: {store: cache}
  users: {namespace: users}
`),
		Environ: []string{"PASSWORD=p/w", "SNOWFENCE_STORES_EU_CACHE=redis://eu"}, Flags: map[string]string{"store": "shop"},
	})
	const shop = "postgres://u:p%2Fw@db/shop"
	if c.Store != shop || c.Stores["eu-cache"] != "redis://eu" {
		t.Errorf("store is %q, stores are %q", c.Store, c.Stores)
	}
	for name, want := range map[string]string{"orders": "mem://", "users": shop} {
		if got := c.StoresOf(c.Generators[name]); !slices.Equal(got, []string{want}) {
			t.Errorf("%s uses %q, want %s", name, got, want)
		}
	}
}

func TestOneConfigurationMeansOneStoreWhereverItIsRead(t *testing.T) {
	path := write(t, `
store: file:ids
stores:
  other: "FILE:./more"
  main: "etcd://host/ids"
  tls: "postgres://me@db/ids?tls=true&ca=ca.pem&cert=/etc/c.pem&key=${KEY}&password-file=secret/one"
data: state
token-file: tokens
tls: {certificate: tls/server.pem, key: /etc/server.key}
insecure: true
generators:
  codes: {kind: opaque, settings: {of: default, key-file: codes.key}}
  default: {}
`)
	folder := filepath.Dir(path)
	want := map[string]string{
		"store": "file:" + folder + "/ids", "stores.other": "file:" + folder + "/more", "stores.main": "etcd://host/ids",
		"stores.tls": "postgres://me@db/ids?tls=true&ca=" + folder + "/ca.pem&cert=/etc/c.pem&key=${KEY}&password-file=" + folder + "/secret/one",
		"data":       folder + "/state", "token-file": folder + "/tokens",
		"tls.certificate": folder + "/tls/server.pem", "tls.key": "/etc/server.key",
		"generators.codes.settings.key-file": folder + "/codes.key",
	}
	for _, directory := range []string{folder, t.TempDir(), "/"} {
		t.Chdir(directory)
		relative, err := filepath.Rel(directory, path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{path, relative} {
			c, _ := read(Sources{File: name, Environ: []string{"HOME=/home/someone", "KEY=/etc/k.pem"}})
			if got, text := c.Stores["tls"], strings.Replace(want["stores.tls"], "${KEY}", "%2Fetc%2Fk.pem", 1); got != text {
				t.Errorf("%s read in %s: the store is %q, want %q", name, directory, got, text)
			}
			for key, text := range want {
				if got := shown(t, c, key).Text; got != text {
					t.Errorf("%s read in %s: %s is %q, want %q", name, directory, key, got, text)
				}
			}
		}
	}

	directory := t.TempDir()
	t.Chdir(directory)
	if c := load(t, Sources{Flags: map[string]string{"store": "file:ids", "data": "."}}); c.Store != "file:"+directory+"/ids" || c.Data != directory {
		t.Errorf("flags: the store is %q, the data in %q", c.Store, c.Data)
	}
	for _, variable := range []string{"SNOWFENCE_STORE=file:ids", "SNOWFENCE_DATA=state", "SNOWFENCE_STORES_OTHER=file:./ids"} {
		refused(t, variable, Sources{Environ: []string{variable}}, "must be an absolute path")
	}
}
