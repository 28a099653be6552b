package config

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/daemon/openstore"
)

// write puts a configuration file into a folder of the test's own.
func write(t testing.TB, content string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "snowfence.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// read loads sources, and has the engines read the URLs.
func read(s Sources) (Config, error) {
	s.CheckURL = openstore.Check
	return Load(s)
}

// load loads sources that must be in order.
func load(t testing.TB, s Sources) Config {
	t.Helper()
	s.Environ = append([]string{"HOME=/home/someone"}, s.Environ...)
	c, err := read(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// shown returns a setting in effect.
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
	for _, c := range []struct {
		name    string
		sources Sources
		want    string
		origin  string
	}{
		{"default", Sources{}, "default", "default"},
		{"file", Sources{File: file}, "from-file", file + ":1:12"},
		{"variable", Sources{File: file, Environ: []string{"SNOWFENCE_NAMESPACE=from-variable"}}, "from-variable", "$SNOWFENCE_NAMESPACE"},
		{"flag", Sources{File: file, Environ: []string{"SNOWFENCE_NAMESPACE=from-variable"}, Flags: map[string]string{"namespace": "from-flag"}}, "from-flag", "--namespace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := load(t, c.sources)
			if v := shown(t, got, "namespace"); v.Text != c.want || v.Origin.String() != c.origin {
				t.Errorf("namespace is %q from %s, want %q from %s", v.Text, v.Origin, c.want, c.origin)
			}
			// A generator that sets none of its own follows.
			if v := shown(t, got, "generators.default.namespace"); v.Text != c.want || v.Origin.String() != c.origin {
				t.Errorf("the generator's is %q from %s, want %q from %s", v.Text, v.Origin, c.want, c.origin)
			}
		})
	}
}

func TestVariableNamesTheFile(t *testing.T) {
	file := write(t, "namespace: here\n")
	c := load(t, Sources{Environ: []string{"SNOWFENCE_CONFIG=" + file}})
	if c.Namespace != "here" {
		t.Errorf("namespace is %q, want here", c.Namespace)
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
	for _, c := range []struct {
		environ []string
		want    string
	}{
		{[]string{"STATE_DIRECTORY=/var/lib/snowfence:/var/lib/other", "XDG_STATE_HOME=/x", "HOME=/h"}, "/var/lib/snowfence"},
		{[]string{"STATE_DIRECTORY=", "HOME=/h"}, "/h/.local/state/snowfence"},
		{[]string{"XDG_STATE_HOME=/x", "HOME=/h"}, "/x/snowfence"},
		{[]string{"XDG_STATE_HOME=relative", "HOME=/h"}, "/h/.local/state/snowfence"},
		{[]string{"HOME=/other", "HOME=/h"}, "/h/.local/state/snowfence"},
		{nil, ""},
	} {
		if got, _ := read(Sources{Environ: c.environ}); got.Data != c.want {
			t.Errorf("%q: %q, want %q", c.environ, got.Data, c.want)
		}
	}
	for _, directory := range []string{"rel", `"/q"`, "a:/b", "/var/lib/${X}", "/ids\n"} {
		_, err := read(Sources{Environ: []string{"HOME=/h", "STATE_DIRECTORY=" + directory}})
		if err == nil || !strings.Contains(err.Error(), "$STATE_DIRECTORY: data: ") {
			t.Errorf("%q is taken: %v", directory, err)
		}
		if c, err := read(Sources{Environ: []string{"STATE_DIRECTORY=" + directory}, Flags: map[string]string{"data": "/d"}}); err != nil || c.Data != "/d" {
			t.Errorf("%q stands in the way of --data: %q, %v", directory, c.Data, err)
		}
	}
}

func TestNoDirectoryIsNeededWithAStore(t *testing.T) {
	if _, err := read(Sources{}); err == nil || !strings.Contains(err.Error(), "set --data, $SNOWFENCE_DATA or store") {
		t.Errorf("without a directory: %v", err)
	}
	if _, err := read(Sources{Environ: []string{"SNOWFENCE_STORE=mem:"}}); err != nil {
		t.Errorf("with a store: %v", err)
	}
}

// faults returns the text of each error.
func faults(err error) []string {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []string
		for _, err := range joined.Unwrap() {
			all = append(all, faults(err)...)
		}
		return all
	}
	if err == nil {
		return nil
	}
	return []string{err.Error()}
}

// TestWhatIsWrongIsNamedWithItsPlace holds the messages that people see. A %
// stands for the file's path.
func TestWindowThatTheLossOutlastsIsNamedWithItsPlace(t *testing.T) {
	for file, want := range map[string][]string{
		"store: redis://host\ngenerators: {a: {window: 45s}, b: {worker: 3}, c: {window: 46s}}": {
			`:2:26: generators.a.window: "45s": must be more than three times what the store can lose, 15s`,
			`:2:32: generators.b.window: "5s": must be more than three times what the store can lose, 15s`,
		},
		"store: redis://host?loss=1s\nstores: {durable: 'postgres://u@h/d?durable=true', nats: 'nats://h'}\ngenerators: {a: {window: 3s}, b: {window: 3s, store: durable, namespace: b}, c: {store: nats, namespace: c}}": {
			`:3:26: generators.a.window: "3s": must be more than three times what the store can lose, 1s`,
			`:3:78: generators.c.window: "1m0s": must be more than three times what the store can lose, 2m30s`,
		},
		"store: etcd://host\ngenerators: {a: {window: 1s}}": nil,
	} {
		err := load(t, Sources{File: write(t, file)}).CheckWindows()
		faults := Faults(err)
		if len(faults) != len(want) {
			t.Errorf("%s: %v, want %q", file, err, want)
			continue
		}
		for i, fault := range faults {
			if !strings.HasSuffix(fault.Error(), want[i]) {
				t.Errorf("%s: %v, want %s", file, fault, want[i])
			}
		}
	}
}

func TestLayoutThatIsNotGivenIsTheNamespaces(t *testing.T) {
	for file, want := range map[string]map[string]bool{
		"generators: {a: {}, b: {layout: twitter}}":               {"a": false, "b": false}, // of one namespace
		"generators: {a: {namespace: x}, b: {layout: twitter}}":   {"a": true, "b": false},
		"layout: twitter\ngenerators: {a: {}}":                    {"a": false},
		"generators: {a: {preset: twitter}}":                      {"a": false},
		"generators: {a: {kind: wide}}":                           {"a": false},
		"{}":                                                      {"default": true},
		"generators: {a: {}, b: {layout: sonyflake-v2}, c: {}, }": {"a": false, "b": false, "c": false},
	} {
		c := load(t, Sources{File: write(t, file)})
		for name, free := range want {
			g := c.Generators[name]
			if g.AnyLayout != free || g.Fence().Layout.IsZero() != free || g.Layout.IsZero() {
				t.Errorf("%s: %s: any layout is %v, want %v: %s", file, name, g.AnyLayout, free, g.Layout)
			}
			if b, ok := c.Generators["b"]; ok && g.Namespace == b.Namespace && !g.Layout.Equal(b.Layout) {
				t.Errorf("%s: %s has layout %s", file, name, g.Layout)
			}
		}
		again, err := c.Complete()
		if err != nil || !slices.EqualFunc(again.Names(), c.Names(), func(a, b string) bool { return again.Generators[a].AnyLayout == c.Generators[b].AnyLayout }) {
			t.Errorf("%s: completed again: %v", file, err)
		}
	}
}

func TestWhatIsWrongIsNamedWithItsPlace(t *testing.T) {
	for _, c := range []struct {
		name    string
		file    string
		environ []string
		flags   map[string]string
		want    []string
	}{
		{"unknown key", "http: 127.0.0.1:1\nhtp: x\n", nil, nil,
			[]string{`%:2:1: htp: unknown key; did you mean "http"?`}},
		{"unknown key, nothing like it", "colour: red\n", nil, nil,
			[]string{`%:1:1: colour: unknown key`}},
		{"unknown key of a section", "log:\n  lewel: info\n", nil, nil,
			[]string{`%:2:3: log.lewel: unknown key; did you mean "level"?`}},
		{"beginning of a key", "tls: {cert: /a.pem}", nil, nil,
			[]string{`%:1:7: tls.cert: unknown key; did you mean "certificate"?`}},
		{"unknown key of a generator", "generators:\n  orders:\n    windw: 1s\n", nil, nil,
			[]string{`%:3:5: generators.orders.windw: unknown key; did you mean "window"?`}},
		{"unknown key of a policy", "generators: {a: {policy: {burst: 1s}}}", nil, nil,
			[]string{`%:1:27: generators.a.policy.burst: unknown key`}},
		{"aliases", "generators: {a: {aliases: [b, x, 'y z']}, b: {aliases: x}, c: {aliases: c}}", nil, nil,
			[]string{
				`%:1:27: generators.a.aliases: "y z": each must be 1 to 128 visible ASCII characters`,
				`%:1:27: generators.a.aliases: "b": generator b has this name already`,
				`%:1:56: generators.b.aliases: "x": generator a has this name already`,
				`%:1:73: generators.c.aliases: "c": generator c has this name already`,
			}},
		{"two names of one port", "http: localhost:9\nresp: 127.0.0.1:9", nil, nil,
			[]string{`%:2:7: resp: "127.0.0.1:9": is the address of http, too: each front needs its own port`}},
		{"every key of a counter", "generators: {a: {kind: ticket, aliases: ['*']}, b: {aliases: ['*']}}", nil, nil,
			[]string{`%:1:41: generators.a.aliases: "*": is for kind snowflake, since Leaf looks at the keys of its segments`}},
		{"merge key", "<<: {http: x}", nil, nil,
			[]string{`%:1:1: <<: YAML's merge is not read: write the keys themselves, or give the whole section as an alias`}},
		{"key twice", "http: 127.0.0.1:1\nhttp: 127.0.0.1:2\n", nil, nil,
			[]string{`%:2:1: "http": stands here again, first in line 1`}},
		{"generator twice", "generators:\n  a: {}\n  a: {}\n", nil, nil,
			[]string{`%:3:3: generators: "a": stands here again, first in line 2`}},
		{"no value", "http:\n", nil, nil,
			[]string{`%:1:1: http: has no value: give one or leave the key out`}},
		{"mapping for a value", "http: {a: b}\n", nil, nil,
			[]string{`%:1:7: http: must be a single value, is a mapping`}},
		{"list for a value", "http: [a, b]\n", nil, nil,
			[]string{`%:1:7: http: must be a single value, is a list`}},
		{"mapping in a list", "hosts: [a, {b: c}]\n", nil, nil,
			[]string{`%:1:12: hosts: each item must be a single value without a comma, is a mapping`}},
		{"comma in a list's item", "hosts: ['a, b']\n", nil, nil,
			[]string{`%:1:9: hosts: each item must be a single value without a comma, is "a, b"`}},
		{"no number in a list", "generators: {a: {datacenters: [0, x]}}", nil, nil,
			[]string{`%:1:31: generators.a.datacenters: "0,x": each number must be a whole number, 0 or more, without leading zeros`}},
		{"store that has no URL", "stores: {a: 'mem://', b: 'mem://'}\ngenerators: {x: {store: c}}", nil, nil,
			[]string{`%:2:25: generators.x.store: "c": is not among the names in stores: a, b`}},
		{"two stores where one is used", "stores: {a: 'mem://', b: 'mem://'}\ngenerators: {x: {store: 'a,b'}}", nil, nil,
			[]string{`%:2:25: generators.x.store: "a,b": must be one name: kind snowflake has one store`}},
		{"namespace in two stores", "stores: {a: 'mem://', b: 'file:/b'}\ngenerators: {x: {store: a}, y: {store: b}}", nil, nil,
			[]string{`%:2:40: generators.y.store: "b": generator x has the same namespace, default, in another store: their ids would collide`}},
		{"further store that is none", "stores: {a: 'mysql://u:secret@h'}", nil, nil,
			[]string{`%:1:13: stores.a: "mysql://u:xxxxx@h": sqlstore: must name one database, behind the hosts of a URL: /database`}},
		{"URL where a name belongs", "generators: {a: {store: 'postgres://ids:secret@h/db'}}", nil, nil,
			[]string{`%:1:25: generators.a.store: "postgres://ids:xxxxx@h/db": is not among the names in stores: it has none`}},
		{"URL as a name", "stores: {'postgres://ids:secret@h/db': x}", nil, nil,
			[]string{`%:1:10: stores.postgres://ids:xxxxx@h/db: "postgres://ids:xxxxx@h/db": must be at most 63 lower-case letters, digits and single hyphens between them, beginning with a letter`}},
		{"a driver's own words", "stores: {a: 'host=h user=ids password=secret'}", nil, nil,
			[]string{`%:1:13: stores.a: "host=h user=ids password=xxxxx": must begin with a scheme; supported are ` + engine.Supported()}},
		{"variable of a further store", "stores: {a: 'mysql://u:${NONE}@h/d'}", nil, nil,
			[]string{`%:1:13: stores.a: "mysql://u:xxxxx@h/d": variable NONE is not set or empty`}},
		{"two fronts on one port", "http: 127.0.0.1:9\nresp: 0.0.0.0:9\ninsecure: true\n", nil, nil,
			[]string{`%:2:7: resp: "0.0.0.0:9": is the address of http, too: each front needs its own port`}},
		{"front on the default port of another", "admin: 127.0.0.1:7601\n", nil, nil,
			[]string{`%:1:8: admin: "127.0.0.1:7601": is the address of resp, too: each front needs its own port`}},
		{"tab", "limits:\n\tdrain: 1s\n", nil, nil,
			[]string{`%:2: not YAML: found character that cannot start any token; YAML is indented with spaces, not with tabs, and a value that begins with @, ` + "`" + ` or % must be quoted`}},
		{"name of a store", "stores: {A: 'mem://'}", nil, nil,
			[]string{`%:1:10: stores.A: "A": must be at most 63 lower-case letters, digits and single hyphens between them, beginning with a letter`}},
		{"syntax in the first line", "store: mem:\n", nil, nil,
			[]string{`%:1: not YAML: mapping values are not allowed in this context`}},
		{"value for a section", "log: info\n", nil, nil,
			[]string{`%:1:6: log: must be a mapping of keys to values, is "info"`}},
		{"list for the whole", "- a\n", nil, nil,
			[]string{`%:1:1: must be a mapping of keys to values, is a list`}},
		{"second document", "http: 127.0.0.1:1\n---\nhttp: 127.0.0.1:2\n", nil, nil,
			[]string{`%:2:1: a second document begins here: there must be one`}},
		{"generator's name", "generators: {My_Orders: {}}", nil, nil,
			[]string{`%:1:14: generators.My_Orders: "My_Orders": must be at most 63 lower-case letters, digits and single hyphens between them, beginning with a letter`}},
		{"generator's name that reads as a setting", "generators: {a-settings: {}}", nil, nil,
			[]string{`%:1:14: generators.a-settings: "a-settings": must not have the word "settings" after the first`}},
		{"not a duration", "limits: {drain: soon}", nil, nil,
			[]string{`%:1:17: limits.drain: "soon": must be a duration such as 500ms, 10s or 1m30s, from 1ms to 10m0s`}},
		{"octal", "generators: {a: {worker: 010}}", nil, nil,
			[]string{`%:1:26: generators.a.worker: "010": must be a whole number, 0 or more, without leading zeros`}},
		{"yes is no boolean", "insecure: yes", nil, nil,
			[]string{`%:1:11: insecure: "yes": must be true or false`}},
		{"not a pause", "limits: {linger: 11m}", nil, nil, []string{`%:1:18: limits.linger: "11m": must be a duration such as 10s, up to 10m0s, or 0s for none`}},
		{"out of range", "limits: {batch: 1000001, header: 1KiB}", nil, nil,
			[]string{`%:1:17: limits.batch: "1000001": must be from 1 to 1000000`, `%:1:34: limits.header: "1KiB": must be from 4KiB to 1MiB`}},
		{"variable", "", []string{"SNOWFENCE_LOG_FORMAT=xml"}, nil,
			[]string{`$SNOWFENCE_LOG_FORMAT: log.format: "xml": must be text or json`}},
		{"flag", "", nil, map[string]string{"log.level": "loud"},
			[]string{`--log-level: log.level: "loud": must be debug, info, warn or error`}},
		{"key without a flag", "", nil, map[string]string{"limits.batch": "3"},
			[]string{`--limits.batch: no flag stands for this key`}},
		{"layout that is too wide", "layout: ms 37 · worker 20 · seq 16", nil, nil,
			[]string{`%:1:9: layout: "ms 37 · worker 20 · seq 16": invalid layout: total is 73 bits, must be at most 63 bits: the 64th bit is the sign`}},
		{"namespace", "namespace: My Orders", nil, nil,
			[]string{`%:1:12: generators.default.namespace: "My Orders": must be 1 to 64 of [a-z0-9._-]`}},
		{"rollback of zero", "generators: {a: {policy: {max-rollback: 0s}}}", nil, nil,
			[]string{`%:1:41: generators.a.policy.max-rollback: "0s": must be a duration above 0 such as 500ms, 10s or 1h30m; none is 1ns`}},
		{"wait below two ticks", "generators: {a: {policy: {max-wait: 1ms}}}", nil, nil,
			[]string{`%:1:37: generators.a.policy.max-wait: "1ms": must be at least two ticks, 2ms`}},
		{"worker beyond the layout", "generators: {a: {worker: 1024}}", nil, nil,
			[]string{`%:1:26: generators.a.worker: "1024": must be from 0 to 1023`}},
		{"worker beyond its datacenter", "generators: {a: {preset: twitter, datacenter: 1, worker: 32}}", nil, nil,
			[]string{`%:1:58: generators.a.worker: "32": must be from 0 to 31, the workers of one datacenter with layout ms41-datacenter5-worker5-seq12@2010-11-04T01:42:54.657Z`}},
		{"datacenter of a layout without", "generators: {a: {datacenter: 1}}", nil, nil,
			[]string{`%:1:30: generators.a.datacenter: "1": layout ms41-worker10-seq12@2026-01-01T00:00:00Z has no datacenter`}},
		{"one worker id pinned twice", "generators:\n  a: {preset: twitter, worker: 33}\n  b: {preset: twitter, datacenter: 1, worker: 1}\n", nil, nil,
			[]string{`%:3:47: generators.b.worker: "1": generator a pins the same worker id of the same namespace, default`}},
		{"two layouts in one namespace", "generators:\n  a: {layout: default}\n  b: {preset: leaf}\n", nil, nil,
			[]string{`%:3:15: generators.b.layout: "ms41-worker10-seq12@2010-11-04T01:42:54.657Z": generator a has layout ms41-worker10-seq12@2026-01-01T00:00:00Z in the same namespace, default: a namespace has one layout, so give one of them a namespace of its own`}},
		{"unknown kind", "generators: {a: {kind: uuid, window: 3s}}", nil, nil,
			[]string{`%:1:24: generators.a.kind: "uuid": unknown kind; known are ticket`, `%:1:38: generators.a.window: is not for kind uuid`}},
		{"setting of a kind that has none", "generators: {a: {settings: {step: 3}}}", nil, nil,
			[]string{`%:1:35: generators.a.settings.step: "3": kind snowflake has no settings`}},
		{"unknown engine, password hidden", "store: ftp://me:hunter2@host/0?password=hunter2", nil, nil,
			[]string{`%:1:8: store: "ftp://me:xxxxx@host/0?password=xxxxx": unknown scheme; supported are file:DIRECTORY, mem://, etcd://, zookeeper://, redis://, rediss://, postgres://, mysql://, nats://`}},
		{"workers that are no range", "generators: {a: {workers: all}, b: {workers: 9-3}, c: {workers: 1000-1024}}", nil, nil,
			[]string{`%:1:27: generators.a.workers: "all": must be a range of worker ids such as 0-31`, `%:1:46: generators.b.workers: "9-3": must be a range of worker ids such as 0-31`, `%:1:65: generators.c.workers: "1000-1024": must be a range within 0-1023`}},
		{"journal that may be", "generators: {a: {journal: maybe}}", nil, nil,
			[]string{`%:1:27: generators.a.journal: "maybe": must be auto, true or false`}},
		{"journal across reboots without one", "generators: {a: {journal-across-reboots: true}}", nil, nil,
			[]string{`%:1:42: generators.a.journal-across-reboots: "true": needs journal: true`}},
		{"certificate without its key", "tls: {certificate: /a.pem}", nil, nil,
			[]string{`%:1:20: tls.certificate: "/a.pem": needs tls.key as well`}},
		{"everything at a time", "htp: x\nlog: {level: loud}\nlimits: {batch: 0}\n", []string{"SNOWFENCE_HTTP=here"}, nil,
			[]string{`%:1:1: htp: unknown key; did you mean "http"?`, `%:2:14: log.level: "loud": must be debug, info, warn or error`,
				`%:3:17: limits.batch: "0": must be a whole number, from 1 to 1000000`, `$SNOWFENCE_HTTP: http: "here": must be host:port, such as 127.0.0.1:7600`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, c.file)
			_, err := read(Sources{File: path, Environ: append(c.environ, "HOME=/h"), Flags: c.flags, Kinds: []string{"ticket"}})
			var want []string
			for _, w := range c.want {
				want = append(want, "config: "+strings.Replace(w, "%", path, 1))
			}
			got := faults(err)
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

func TestFaultsStandInTheOrderOfTheirPlaces(t *testing.T) {
	path := write(t, "log: {level: loud}\ngenerators:\n  c: {window: x}\n  a: {window: y, worker: z}\n  b: {settings: {q: 1, p: 2}}\nhtp: 1\n")
	_, err := read(Sources{File: path, Environ: []string{"HOME=/h", "SNOWFENCE_LIMITS_BATCH=0"}, Flags: map[string]string{"log.format": "xml"}})
	var keys []string
	for _, fault := range Faults(err) {
		keys = append(keys, fault.Key)
	}
	want := []string{
		"log.level", "generators.c.window", "generators.a.window", "generators.a.worker", "generators.b.settings.q", "generators.b.settings.p", "htp",
		"limits.batch", "log.format",
	}
	if !slices.Equal(keys, want) {
		t.Errorf("keys are\n%q, want\n%q", keys, want)
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

func TestWarningsAreThereBesideFaults(t *testing.T) {
	c, err := read(Sources{Environ: []string{"HOME=/h", "SNOWFENCE_HTPP=x", "SNOWFENCE_HTTP=y"}})
	if err == nil || len(c.Warnings()) != 1 || !strings.Contains(c.Warnings()[0], "SNOWFENCE_HTPP") {
		t.Errorf("error is %v, warnings are %q", err, c.Warnings())
	}
}

func TestLayoutIsWarnedOfUnlessItHoldsForAYear(t *testing.T) {
	c := load(t, Sources{File: write(t, "layout: ms41-worker10-seq12@2026-01-01")})
	l := c.Generators["default"].Layout
	for _, x := range []struct {
		at   time.Time
		want string
	}{
		{l.Epoch, ""},
		{l.Epoch.Add(-time.Nanosecond), "lies ahead"},
		{l.Horizon(), "ran out on 2095-09-07"},
		{l.Horizon().Add(-time.Nanosecond), "runs out on 2095-09-07"},
		{l.Horizon().Add(-horizonNotice + 1), "runs out on 2095-09-07"},
		{l.Horizon().Add(-horizonNotice), ""},
	} {
		got := strings.Join(c.LayoutWarnings(x.at), "\n")
		if (got == "") != (x.want == "") || !strings.Contains(got, x.want) || got != "" && !strings.Contains(got, "snowfence.yaml:1:9: generators.default.layout: ") {
			t.Errorf("at %s: %q, want %q", x.at, got, x.want)
		}
	}
}

func TestSyntaxErrorNamesItsLine(t *testing.T) {
	path := write(t, "http: x\n  log: {\n")
	_, err := read(Sources{File: path, Environ: []string{"HOME=/h"}})
	var fault *Error
	if !errors.As(err, &fault) || fault.Origin.Line == 0 || !strings.Contains(fault.Reason, "not YAML") {
		t.Errorf("error is %v", err)
	}
}

func TestFileMustExistAndBeOfReasonableSize(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.yaml")
	if _, err := read(Sources{File: missing, Environ: []string{"HOME=/h"}}); err == nil || err.Error() != "config: "+missing+": open: no such file or directory" {
		t.Errorf("missing: %v", err)
	}
	large := write(t, strings.Repeat("#", maxFile+1))
	if _, err := read(Sources{File: large, Environ: []string{"HOME=/h"}}); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("large: %v", err)
	}
}

func TestAddressBeyondLoopbackNeedsTLSAndATokenOrInsecure(t *testing.T) {
	tls, mutual := TLS{Certificate: "c.pem", Key: "k.pem"}, TLS{Certificate: "c.pem", Key: "k.pem", ClientCA: "ca.pem"}
	for _, c := range []struct {
		http string
		set  func(*Config)
		ok   bool
	}{
		{"127.0.0.1:7600", nil, true},
		{"127.3.2.1:0", nil, true},
		{"[::1]:7600", nil, true},
		{"localhost:7600", nil, true},
		{"", nil, true},
		{":7600", nil, false},
		{"0.0.0.0:7600", nil, false},
		{"[::]:7600", nil, false},
		{"10.0.0.1:7600", nil, false},
		{"ids.example:7600", nil, false},
		{":7600", func(c *Config) { c.TLS = tls }, false},
		{":7600", func(c *Config) { c.TokenFile = "token" }, false},
		{":7600", func(c *Config) { c.TLS, c.TokenFile = tls, "token" }, true},
		{":7600", func(c *Config) { c.TLS = mutual }, true},
		{"127.0.0.1:7600", func(c *Config) { c.RESP = ":7601" }, false},
		{"127.0.0.1:7600", func(c *Config) { c.Admin = ":7610" }, false},
		{"127.0.0.1:7600", func(c *Config) { c.TLS.ClientCA = "ca.pem" }, false},
		{":7600", func(c *Config) { c.Insecure = true }, true},
		{"127.0.0.1:http", nil, false},
		{"127.0.0.1:65536", nil, false},
		{"7600", nil, false},
	} {
		config := Default()
		config.Store, config.HTTP = "mem:", c.http
		if c.set != nil {
			c.set(&config)
		}
		if _, err := config.Complete(); (err == nil) != c.ok {
			t.Errorf("%q with TLS %v, token %q, insecure %v: error is %v", c.http, config.TLS, config.TokenFile, config.Insecure, err)
		}
	}
}

func TestWorkerIDIsPinnedInTheFencesNumbering(t *testing.T) {
	c := load(t, Sources{File: write(t, "generators: {a: {preset: twitter, datacenter: 3, worker: 7}}")})
	g := c.Generators["a"]
	f := g.Fence()
	if f.Worker == nil || *f.Worker != 3<<5|7 || f.Datacenter != nil {
		t.Errorf("worker is %v, datacenter %v, want worker %d alone", f.Worker, f.Datacenter, 3<<5|7)
	}
	if window := g.InEffect().Window; window != 5*time.Second {
		t.Errorf("window is %s, want 5s for a pinned worker", window)
	}
}

// TestDefaultIsLeftToTheFence is about a layout that only the namespace knows: its ticks have a say in how long a call waits.
func TestDefaultIsLeftToTheFence(t *testing.T) {
	for file, want := range map[string]time.Duration{"{}": 0, "generators: {default: {policy: {max-wait: 1s}}}": time.Second} {
		g := load(t, Sources{File: write(t, file)}).Generators["default"]
		if got := g.Fence().Policy.MaxWait; got != want {
			t.Errorf("%s: the fence is told to wait %s, want %s", file, got, want)
		}
		if got := g.InEffect().Policy.MaxWait; got != time.Second {
			t.Errorf("%s: %s is in effect, want 1s", file, got)
		}
	}
}

func TestPasswordIsNeverShown(t *testing.T) {
	c := Default()
	c.Store = "redis://me:hunter2@host/0"
	for _, v := range c.Values() {
		if strings.Contains(v.Text, "hunter2") {
			t.Errorf("%s shows the password: %s", v.Key, v.Text)
		}
	}
}

func TestKeyInTheWrongPlaceIsNeverShown(t *testing.T) {
	const secret = "2b7e151628aed2a6abf7158809cf4f3c"
	for _, test := range []struct {
		key, value string
		hidden     bool
	}{
		{"key", "short", true},
		{"keys", "b " + secret, true},
		{"key-fil", "/etc/order.keys", true},
		{"secret", secret, true},
		{"key-file", "/etc/order.keys", false},
		{"key-file", "b " + secret, true},
		{"key-variable", "ORDER_KEYS", false},
		{"key-variable", strings.ToUpper(secret), true},
		{"key-variable", secret[:31], false},
		{"of", "orders", false},
	} {
		c := Default()
		c.Generators = map[string]Generator{"settings": {Kind: "opaque", Settings: map[string]string{test.key: test.value}}}
		want := test.value
		if test.hidden {
			want = engine.Hidden
		}
		if v := shown(t, c, "generators.settings.settings."+test.key); v.Text != want {
			t.Errorf("%s: %s is shown as %s", test.key, test.value, v.Text)
		}
		err := c.SettingFault("settings", test.key, "is wrong")
		if wrong := new(Error); !errors.As(err, &wrong) || wrong.Value != want {
			t.Errorf("%s: %s is shown in %v", test.key, test.value, err)
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

func TestCompleteTwiceIsCompleteOnce(t *testing.T) {
	once := load(t, Sources{File: write(t, everything), Kinds: []string{"ticket"}})
	twice, err := once.Complete("ticket")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := twice.Values(), once.Values(); !slices.Equal(got, want) {
		t.Errorf("values are\n%v\nwant\n%v", got, want)
	}
}

// TestGeneratorIsJudgedAgainOnlyIfItChanged: the judgement of package fence is kept from one Complete to the next.
func TestGeneratorIsJudgedAgainOnlyIfItChanged(t *testing.T) {
	once := load(t, Sources{})
	twice, err := once.Complete()
	if err != nil || twice.Generators["default"].filled != once.Generators["default"].filled {
		t.Errorf("an unchanged generator is judged again: %v", err)
	}
	g := twice.Generators["default"]
	g.Window = time.Hour
	twice.Generators["default"] = g
	if again, err := twice.Complete(); err != nil || again.Generators["default"].InEffect().Window != time.Hour {
		t.Errorf("a changed generator is not judged again: %v", err)
	}
	g.Window = 1
	twice.Generators["default"] = g
	if _, err := twice.Complete(); err == nil {
		t.Error("a window of 1 ns is taken")
	}
}

func TestThriftGeneratorIsDefaultOrOneThatExists(t *testing.T) {
	for name, ok := range map[string]bool{"": true, DefaultGenerator: true, "orders": true, "order": false} {
		c := Default()
		c.Store, c.ThriftGenerator = "mem:", name
		c.Generators = map[string]Generator{"orders": {}}
		got, err := c.Complete()
		if (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
		if want := cmp.Or(name, DefaultGenerator); got.ThriftGenerator != want {
			t.Errorf("%q: means %q, want %q", name, got.ThriftGenerator, want)
		}
	}
}

// TestOneConfigurationMeansOneStoreWhereverItIsRead is about relative paths: a folder in each working directory
// would be a store in each, and their ids could be equal.
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
		if _, err := read(Sources{Environ: []string{"HOME=/home/someone", variable}}); err == nil || !strings.Contains(err.Error(), "must be an absolute path") {
			t.Errorf("%s: %v", variable, err)
		}
	}
}
