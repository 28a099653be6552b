package config

import (
	"slices"
	"strings"
	"testing"

	"snowfence.example/snowfence"
)

// everything sets every key to something that is not its default.
const everything = `
store: mem://
stores: {legacy: "mysql://u@db/ids", cache: "redis://cache"}
namespace: shop
layout: ms41-worker9-seq13@2025-01-01
data: /data
http: 0.0.0.0:7000
hosts: ids.example, ids
insecure: true
store-must-exist: true
token-file: /etc/token
tls: {certificate: /etc/c.pem, key: /etc/k.pem, client-ca: /etc/ca.pem}
resp: 127.0.0.1:7701
grpc: 127.0.0.1:7702
thrift: 127.0.0.1:7709
pod: ids-0
thrift-generator: orders
admin: 127.0.0.1:7710
health: 0.0.0.0:7711
log: {level: debug, format: json}
limits: {batch: 7, body: 2KiB, header: 5000, read-timeout: 1s, write-timeout: 2s, idle-timeout: 3s, linger: 9s, drain: 4s, session: 5s, memory: 65MiB, connections: 6, address-connections: 5, address-rate: 8}
generators:
  orders:
    kind: snowflake
    aliases: [order_no, "*"]
    namespace: orders
    preset: twitter
    layout: twitter@2026-01-01
    window: 20s
    worker: 3
    workers: 0-40
    datacenter: 1
    datacenters: 0, 1
    claim-wait: 1m1s
    journal: true
    lend-share: 30
    standby: false
    policy: {max-rollback: 1ns, max-burst: 3ms, max-wait: 2s, wall-every-call: true, sequence-start: "vibration:4095"}
  tickets:
    kind: ticket
    store: [legacy, cache]
    settings: {start: 100, zone: Europe/Paris}
`

func TestEveryKeyCanBeSetAndIsShown(t *testing.T) {
	set := map[string]bool{}
	for _, v := range load(t, Sources{File: write(t, everything), Kinds: []string{"ticket"}}).Values() {
		set[general(v.Key)] = set[general(v.Key)] || v.Origin.Source == FromFile
	}
	flags := map[string]string{}
	for _, key := range Keys() {
		if !set[key.Path] {
			t.Errorf("%s: was not set by the file that sets everything", key.Path)
		}
		if key.About == "" {
			t.Errorf("%s: has no help", key.Path)
		}
		if other := flags[key.Flag]; other != "" && key.Flag != "" {
			t.Errorf("--%s stands for %s and %s", key.Flag, other, key.Path)
		}
		flags[key.Flag] = key.Path
	}
}

func TestEveryKeyMeansTheSameFromAFileAndAVariable(t *testing.T) {
	fromFile := load(t, Sources{File: write(t, everything), Kinds: []string{"ticket"}})
	var environ []string
	for _, v := range fromFile.Values() {
		if v.Origin.Source == FromFile {
			environ = append(environ, environmentName(v.Key)+"="+v.Text)
		}
	}
	fromEnvironment := load(t, Sources{Environ: environ, Kinds: []string{"ticket"}})
	if len(fromEnvironment.Warnings()) > 0 {
		t.Errorf("warnings: %q", fromEnvironment.Warnings())
	}
	text := func(c Config) []string {
		var all []string
		for _, v := range c.Values() {
			all = append(all, v.Key+"="+v.Text)
		}
		return all
	}
	if got, want := text(fromEnvironment), text(fromFile); !slices.Equal(got, want) {
		t.Errorf("from variables\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestKeysOfAPolicyAreItsFields is about the struct that has the keys of a policy: it converts while both have the same fields.
func TestKeysOfAPolicyAreItsFields(t *testing.T) {
	p := snowfence.Policy{MaxBurst: 1, MaxWait: 2}
	if k := policyKeys(p); k.MaxBurst != 1 || k.MaxWait != 2 {
		t.Errorf("%+v is %+v", p, k)
	}
}

// FuzzFile holds that the parser survives every file. For an accepted file, the shown values
// make up a file that is accepted, too.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{everything, "", "a", "- a", "a: {b: [c]}", "&a {b: *a}", "<<: {http: x}", "---\n...\n---", "generators: {a: &x {}, b: *x}", "\x00", "? {a: b}\n: c", "http: !!binary aGk=", " store: mem://", "store: ''"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		again := loading("ticket")
		d := loading("ticket")
		d.readYAML("fuzz.yaml", content)
		d.build()
		if d.complete(); Join(d.faults...) != nil {
			return
		}
		for _, v := range d.Values() {
			if v.Key != "store" && !v.Unset { // a store is shown without passwords
				again.put(v.Key, v.Text, v.Origin)
			}
		}
		again.put("store", d.Store, Origin{})
		again.build()
		if again.complete(); Join(again.faults...) != nil {
			t.Fatalf("the shown values are not accepted: %v", Join(again.faults...))
		}
	})
}
