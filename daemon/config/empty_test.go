package config

import (
	"fmt"
	"strings"
	"testing"
)

// TestEmptyTextIsAFaultOfItsSource is about an unset variable in a unit, a script or a file for containers. Taken as not
// set, it would be another store, namespace or file than the one that a weaker source names.
func TestEmptyTextIsAFaultOfItsSource(t *testing.T) {
	const whole = `
store: a
stores: {a: "mem://"}
namespace: prod
data: /data
token-file: /etc/tokens
tls: {certificate: /c.pem, key: /k.pem, client-ca: /ca.pem}
generators: {x: {kind: ticket, store: a, namespace: n, settings: {name: ""}}}
`
	for _, key := range []string{
		"store", "stores.a", "stores.b", "namespace", "data", "token-file", "tls.certificate", "tls.key", "tls.client-ca", "layout", "log.format",
		"thrift-generator", "generators.x.kind", "generators.x.store", "generators.x.namespace", "generators.x.preset", "generators.y.journal",
	} {
		const want = "is empty: give a value or leave it out"
		names := strings.Split(key, ".")
		file := strings.Join(names, ": {") + `: ""` + strings.Repeat("}", len(names)-1)
		for source, s := range map[string]Sources{
			"snowfence.yaml:1:":        {File: write(t, file)},
			"$" + environmentName(key): {File: write(t, whole), Environ: []string{environmentName(key) + "="}},
		} {
			s.Kinds = []string{"ticket"}
			refused(t, key, s, source)
			refused(t, source, s, key+": "+want)
		}
	}
	for _, sources := range []Sources{
		{Flags: map[string]string{"store": ""}}, {Flags: map[string]string{"namespace": ""}}, {Flags: map[string]string{"data": ""}},
		{Environ: []string{"SNOWFENCE_CONFIG="}}, {File: write(t, "generators: {x: {kind: ticket, store: []}}")},
	} {
		sources.Kinds = []string{"ticket"}
		refused(t, fmt.Sprint(sources.Flags, sources.Environ), sources, "is empty")
	}
	off := load(t, Sources{File: write(t, `{http: "", admin: "", hosts: [], generators: {x: {aliases: "", datacenters: []}}}`), Environ: []string{"SNOWFENCE_RESP="}, Flags: map[string]string{"grpc": ""}})
	if off.HTTP+off.RESP+off.GRPC != "" {
		t.Errorf("the fronts are not off: %q, %q, %q", off.HTTP, off.RESP, off.GRPC)
	}
}

// TestOutOfRangeLimitIsShownAsWritten is about numbers too large for an int, and other ways to write one.
func TestOutOfRangeLimitIsShownAsWritten(t *testing.T) {
	for written, want := range map[string]string{
		"batch: 100000000000": `"100000000000": must be a whole number, from 1 to 1000000`, "body: 1e9": `"1e9": must be`, "body: 99999TiB": `"99999TiB": must be`,
		"drain: 90000s": `"90000s": must be a duration such as 500ms, 10s or 1h30m, from 1ms to 10m0s`, "address-rate: 100000000000": `"100000000000": must be`,
	} {
		refused(t, written, Sources{File: write(t, "limits: {"+written+"}")}, want)
	}
}
