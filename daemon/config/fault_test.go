package config

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/daemon/engine"
)

func TestWhatIsWrongIsNamedWithItsPlace(t *testing.T) {
	for _, c := range []struct {
		name, file string
		want       []string
	}{
		{"unknown key", "http: 127.0.0.1:1\nhtp: x\n", []string{`%:2:1: htp: unknown key; did you mean "http"?`}},
		{"unknown key of a section", "log:\n  lewel: info\n", []string{`%:2:3: log.lewel: unknown key; did you mean "level"?`}},
		{"unknown key of a generator", "generators:\n  orders:\n    windw: 1s\n", []string{`%:3:5: generators.orders.windw: unknown key; did you mean "window"?`}},
		{"unknown key of a policy", "generators: {a: {policy: {burst: 1s}}}", []string{`%:1:27: generators.a.policy.burst: unknown key`}},
		{"aliases", "generators: {a: {aliases: [b, x, 'y z']}, b: {aliases: x}, c: {aliases: c}}", []string{`%:1:27: generators.a.aliases: "y z": each must be 1 to 128 visible ASCII characters`, `%:1:27: generators.a.aliases: "b": generator b has this name already`, `%:1:56: generators.b.aliases: "x": generator a has this name already`, `%:1:73: generators.c.aliases: "c": generator c has this name already`}},
		{"two names of one port", "http: localhost:9\nresp: 127.0.0.1:9", []string{`%:2:7: resp: "127.0.0.1:9": is the address of http, too: each front needs its own port`}},
		{"every key of a counter", "generators: {a: {kind: ticket, aliases: ['*']}, b: {aliases: ['*']}}", []string{`%:1:41: generators.a.aliases: "*": is for kind snowflake, since Leaf looks at the keys of its segments`}},
		{"merge key", "<<: {http: x}", []string{`%:1:1: <<: YAML's merge is not read: write the keys themselves, or give the whole section as an alias`}},
		{"key twice", "http: 127.0.0.1:1\nhttp: 127.0.0.1:2\n", []string{`%:2:1: "http": stands here again, first in line 1`}},
		{"no value", "http:\n", []string{`%:1:1: http: has no value: give one or leave the key out`}},
		{"mapping for a value", "http: {a: b}\n", []string{`%:1:7: http: must be a single value, is a mapping`}},
		{"list for a value", "http: [a, b]\n", []string{`%:1:7: http: must be a single value, is a list`}},
		{"mapping in a list", "hosts: [a, {b: c}]\n", []string{`%:1:12: hosts: each item must be a single value without a comma, is a mapping`}},
		{"comma in a list's item", "hosts: ['a, b']\n", []string{`%:1:9: hosts: each item must be a single value without a comma, is "a, b"`}},
		{"no number in a list", "generators: {a: {datacenters: [0, x]}}", []string{`%:1:31: generators.a.datacenters: "0,x": each number must be a whole number, 0 or more, without leading zeros`}},
		{"store that has no URL", "stores: {a: 'mem://', b: 'mem://'}\ngenerators: {x: {store: c}}", []string{`%:2:25: generators.x.store: "c": is not among the names in stores: a, b`}},
		{"two stores where one is used", "stores: {a: 'mem://', b: 'mem://'}\ngenerators: {x: {store: 'a,b'}}", []string{`%:2:25: generators.x.store: "a,b": must be one name: kind snowflake has one store`}},
		{"namespace in two stores", "stores: {a: 'mem://', b: 'file:/b'}\ngenerators: {x: {store: a}, y: {store: b}}", []string{`%:2:40: generators.y.store: "b": generator x has the same namespace, default, in another store: their ids would collide`}},
		{"further store that is none", "stores: {a: 'mysql://u:secret@h'}", []string{`%:1:13: stores.a: "mysql://u:xxxxx@h": sqlstore: must name one database, behind the hosts of a URL: /database`}},
		{"URL where a name belongs", "generators: {a: {store: 'postgres://ids:secret@h/db'}}", []string{`%:1:25: generators.a.store: "postgres://ids:xxxxx@h/db": is not among the names in stores: it has none`}},
		{"URL as a name", "stores: {'postgres://ids:secret@h/db': x}", []string{`%:1:10: stores.postgres://ids:xxxxx@h/db: "postgres://ids:xxxxx@h/db": must be at most 63 lower-case letters, digits and single hyphens between them, beginning with a letter`}},
		{"a driver's own words", "stores: {a: 'host=h user=ids password=secret'}", []string{`%:1:13: stores.a: "host=h user=ids password=xxxxx": must begin with a scheme; supported are ` + engine.Supported()}},
		{"variable of a further store", "stores: {a: 'mysql://u:${NONE}@h/d'}", []string{`%:1:13: stores.a: "mysql://u:xxxxx@h/d": variable NONE is not set or empty`}},
		{"two fronts on one port", "http: 127.0.0.1:9\nresp: 0.0.0.0:9\ninsecure: true\n", []string{`%:2:7: resp: "0.0.0.0:9": is the address of http, too: each front needs its own port`}},
		{"front on the default port of another", "admin: 127.0.0.1:7601\n", []string{`%:1:8: admin: "127.0.0.1:7601": is the address of resp, too: each front needs its own port`}},
		{"tab", "limits:\n\tdrain: 1s\n", []string{`%:2: not YAML: found character that cannot start any token; YAML is indented with spaces, not with tabs, and a value that begins with @, ` + "`" + ` or % must be quoted`}},
		{"syntax in the first line", "store: mem:\n", []string{`%:1: not YAML: mapping values are not allowed in this context`}},
		{"value for a section", "log: info\n", []string{`%:1:6: log: must be a mapping of keys to values, is "info"`}},
		{"list for the whole", "- a\n", []string{`%:1:1: must be a mapping of keys to values, is a list`}},
		{"second document", "http: 127.0.0.1:1\n---\nhttp: 127.0.0.1:2\n", []string{`%:2:1: a second document begins here: there must be one`}},
		{"generator's name", "generators: {My_Orders: {}}", []string{`%:1:14: generators.My_Orders: "My_Orders": must be at most 63 lower-case letters, digits and single hyphens between them, beginning with a letter`}},
		{"generator's name that reads as a setting", "generators: {a-settings: {}}", []string{`%:1:14: generators.a-settings: "a-settings": must not have the word "settings" after the first`}},
		{"not a duration", "limits: {drain: soon}", []string{`%:1:17: limits.drain: "soon": must be a duration such as 500ms, 10s or 1h30m, from 1ms to 10m0s`}},
		{"octal", "generators: {a: {worker: 010}}", []string{`%:1:26: generators.a.worker: "010": must be a whole number, 0 or more, without leading zeros`}},
		{"yes is no boolean", "insecure: yes", []string{`%:1:11: insecure: "yes": must be true or false`}},
		{"not a pause", "limits: {linger: 11m}", []string{`%:1:18: limits.linger: "11m": must be a duration such as 500ms, 10s or 1h30m, from 0s to 10m0s`}},
		{"out of range", "limits: {batch: 1000001, header: 1KiB}", []string{`%:1:17: limits.batch: "1000001": must be a whole number, from 1 to 1000000`, `%:1:34: limits.header: "1KiB": must be a number of bytes such as 4096, 64KiB or 1MiB, from 4KiB to 1MiB`}},
		{"layout that is too wide", "layout: ms37-worker20-seq16", []string{`%:1:9: layout: "ms37-worker20-seq16": invalid layout: total is 73 bits, must be at most 63 bits: the 64th bit is the sign`}},
		{"namespace", "namespace: My Orders", []string{`%:1:12: generators.default.namespace: "My Orders": must be 1 to 64 of [a-z0-9._-]`}},
		{"rollback of zero", "generators: {a: {policy: {max-rollback: 0s}}}", []string{`%:1:41: generators.a.policy.max-rollback: "0s": must be a duration such as 500ms, 10s or 1h30m, above 0; none is 1ns`}},
		{"wait of zero", "generators: {a: {policy: {max-wait: 0s}}}", []string{`%:1:37: generators.a.policy.max-wait: "0s": must be a duration such as 500ms, 10s or 1h30m, at least two ticks of the layout`}},
		{"wait below two ticks", "generators: {a: {policy: {max-wait: 1ms}}}", []string{`%:1:37: generators.a.policy.max-wait: "1ms": must be at least two ticks, 2ms`}},
		{"worker beyond the layout", "generators: {a: {worker: 1024}}", []string{`%:1:26: generators.a.worker: "1024": must be from 0 to 1023`}},
		{"worker beyond its datacenter", "generators: {a: {preset: twitter, datacenter: 1, worker: 32}}", []string{`%:1:58: generators.a.worker: "32": must be from 0 to 31, the workers of one datacenter with layout ms41-datacenter5-worker5-seq12@2010-11-04T01:42:54.657Z`}},
		{"datacenter of a layout without", "generators: {a: {datacenter: 1}}", []string{`%:1:30: generators.a.datacenter: "1": layout ms41-worker10-seq12@2026-01-01T00:00:00Z has no datacenter`}},
		{"one worker id pinned twice", "generators:\n  a: {preset: twitter, worker: 33}\n  b: {preset: twitter, datacenter: 1, worker: 1}\n", []string{`%:3:47: generators.b.worker: "1": generator a pins the same worker id of the same namespace, default`}},
		{"two layouts in one namespace", "generators:\n  a: {layout: default}\n  b: {preset: leaf}\n", []string{`%:3:15: generators.b.layout: "ms41-worker10-seq12@2010-11-04T01:42:54.657Z": generator a has layout ms41-worker10-seq12@2026-01-01T00:00:00Z in the same namespace, default: a namespace has one layout, so give one of them a namespace of its own`}},
		{"a layout beside none", "generators:\n  a: {}\n  b: {preset: leaf}\n", []string{`%:3:15: generators.b.layout: "ms41-worker10-seq12@2010-11-04T01:42:54.657Z": generator a has layout ms41-worker10-seq12@2026-01-01T00:00:00Z in the same namespace, default: a namespace has one layout, so give one of them a namespace of its own`}},
		{"unknown kind", "generators: {a: {kind: uuid, window: 3s}}", []string{`%:1:24: generators.a.kind: "uuid": unknown kind; known are ticket`, `%:1:38: generators.a.window: is not for kind uuid`}},
		{"setting of a kind that has none", "generators: {a: {settings: {step: 3}}}", []string{`%:1:35: generators.a.settings.step: "3": kind snowflake has no settings`}},
		{"unknown engine, password hidden", "store: ftp://me:hunter2@host/0?password=hunter2", []string{`%:1:8: store: "ftp://me:xxxxx@host/0?password=xxxxx": unknown scheme; supported are file:DIRECTORY, mem://, etcd://, zookeeper://, redis://, rediss://, postgres://, mysql://, nats://, kubernetes:///`}},
		{"workers that are no range", "generators: {a: {workers: all}, b: {workers: 9-3}, c: {workers: 1000-1024}}", []string{`%:1:27: generators.a.workers: "all": must be a range of worker ids such as 0-31`, `%:1:46: generators.b.workers: "9-3": must be a range of worker ids such as 0-31`, `%:1:65: generators.c.workers: "1000-1024": must be a range within 0-1023`}},
		{"journal that may be", "generators: {a: {journal: maybe}}", []string{`%:1:27: generators.a.journal: "maybe": must be auto, true or false`}},
		{"certificate without its key", "tls: {certificate: /a.pem}", []string{`%:1:20: tls.certificate: "/a.pem": needs tls.key as well`}},
	} {
		t.Run(c.name, func(t *testing.T) { expectFaults(t, Sources{File: write(t, c.file)}, c.want...) })
	}
	variable, flag := []string{"SNOWFENCE_LOG_FORMAT=xml"}, map[string]string{"log.level": "loud", "limits.batch": "3"}
	expectFaults(t, Sources{Environ: variable, Flags: flag},
		`$SNOWFENCE_LOG_FORMAT: log.format: "xml": must be text or json`,
		`--limits.batch: no flag stands for this key`, `--log-level: log.level: "loud": must be debug, info, warn or error`)
	expectFaults(t, Sources{File: write(t, "htp: x\nlog: {level: loud}\nlimits: {batch: 0}\n"), Environ: []string{"SNOWFENCE_HTTP=here"}},
		`%:1:1: htp: unknown key; did you mean "http"?`, `%:2:14: log.level: "loud": must be debug, info, warn or error`,
		`%:3:17: limits.batch: "0": must be a whole number, from 1 to 1000000`, `$SNOWFENCE_HTTP: http: "here": must be host:port, such as 127.0.0.1:7600`)
}

// TestAdviceAboutADurationIsAccepted writes the value that an error advises, for every duration that must be above 0.
func TestAdviceAboutADurationIsAccepted(t *testing.T) {
	advised := map[string]string{ // by the range that the error names
		"above 0":                          "1ns",
		"above 0; none is 1ns":             "1ns",
		"from 50ms to 744h":                "50ms",
		"at least two ticks of the layout": "2ms",
	}
	durations := 0
	for _, f := range newSchema().generator {
		if f.kind != reflect.TypeFor[time.Duration]() || f.most > 0 {
			continue
		}
		durations++
		err := f.set(&Generator{}, f.name, "0s")
		_, limit, _ := strings.Cut(fmt.Sprint(err), "1h30m, ")
		if advised[limit] == "" {
			t.Errorf("%s: no value is known for the advice of %v", f.name, err)
			continue
		}
		c, g := Default(), Generator{}
		if err := f.set(&g, f.name, advised[limit]); err != nil {
			t.Errorf("%s: %s is refused: %v", f.name, advised[limit], err)
		}
		c.Store, c.Generators = "mem://", map[string]Generator{"a": g}
		if _, err := c.Complete(); err != nil {
			t.Errorf("%s: %s, advised by %q, is refused: %v", f.name, advised[limit], limit, err)
		}
	}
	if durations < 5 {
		t.Errorf("%d durations: the test reads the tags wrongly", durations)
	}
}

func expectFaults(t *testing.T, s Sources, want ...string) {
	t.Helper()
	s.Environ, s.Kinds = append(s.Environ, "HOME=/h"), []string{"ticket"}
	_, err := read(s)
	for i := range want {
		want[i] = "config: " + strings.Replace(want[i], "%", s.File, 1)
	}
	if got, want := fmt.Sprint(err), strings.Join(want, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
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

func TestWarningsAreThereBesideFaults(t *testing.T) {
	c, err := read(Sources{Environ: []string{"HOME=/h", "SNOWFENCE_HTPP=x", "SNOWFENCE_HTTP=y"}})
	if err == nil || len(c.Warnings()) != 1 || !strings.Contains(c.Warnings()[0], "SNOWFENCE_HTPP") {
		t.Errorf("error is %v, warnings are %q", err, c.Warnings())
	}
}

func TestFileMustExistAndBeOfReasonableSize(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.yaml")
	refused(t, "missing", Sources{File: missing}, "config: "+missing+": open: no such file or directory")
	refused(t, "large", Sources{File: write(t, strings.Repeat("#", maxFile+1))}, "more than")
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
	for _, test := range []struct{ key, value, want string }{
		{"key", "short", engine.Hidden},
		{"keys", "b " + secret, engine.Hidden},
		{"key-fil", "/etc/order.keys", engine.Hidden},
		{"secret", secret, engine.Hidden},
		{"key-file", "/etc/order.keys", "/etc/order.keys"},
		{"key-file", "b " + secret, engine.Hidden},
		{"key-variable", "ORDER_KEYS", "ORDER_KEYS"},
		{"key-variable", strings.ToUpper(secret), engine.Hidden},
		{"key-variable", secret[:31], secret[:31]},
		{"of", "orders", "orders"},
	} {
		c := Default()
		c.Generators = map[string]Generator{"settings": {Kind: "opaque", Settings: map[string]string{test.key: test.value}}}
		if v := shown(t, c, "generators.settings.settings."+test.key); v.Text != test.want {
			t.Errorf("%s: %s is shown as %s", test.key, test.value, v.Text)
		}
		err := c.SettingFault("settings", test.key, "is wrong")
		if wrong := Faults(err); len(wrong) != 1 || wrong[0].Value != test.want {
			t.Errorf("%s: %s is shown in %v", test.key, test.value, err)
		}
	}
}
