package config

import (
	"cmp"
	"maps"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/engine"
)

// Complete returns the configuration with a value for each setting that was left to its default, or an
// error with an [Error] for each fault. It returns a complete configuration unchanged. Kinds are the
// kinds of generator that the program has.
func (c Config) Complete(kinds ...string) (Config, error) {
	d := &draft{Config: c, schema: newSchema(), kinds: kinds}
	d.complete()
	return d.Config, Join(d.faults...)
}

// complete completes the configuration and holds it to the rules between settings.
func (d *draft) complete() {
	if d.Generators = maps.Clone(d.Generators); len(d.Generators) == 0 {
		d.Generators = map[string]Generator{DefaultGenerator: {}}
	}
	d.common()
	d.listening()
	for _, name := range d.Names() {
		d.Generators[name] = d.completeGenerator(name, d.Generators[name])
	}
	d.aliases()
	d.together()
	if _, ok := d.Generators[d.ThriftGenerator]; !ok && d.ThriftGenerator != DefaultGenerator {
		d.fault("thrift-generator", d.ThriftGenerator, "must be one of the generators: %s", strings.Join(d.Names(), ", "))
	}
}

func (d *draft) common() {
	if d.anyLayout = d.Layout.IsZero(); d.anyLayout {
		d.Layout = snowfence.DefaultLayout()
	}
	d.Store = cmp.Or(d.Stores[d.Store], d.Store)
	switch {
	case d.Store != "":
	case d.Data == "":
		d.fault("data", "", "no directory is known to keep the store in: set --%s, $%s or %s", "data", environmentName("data"), "store")
	default:
		d.Store = "file:" + filepath.Join(d.Data, "store")
	}
	d.faults = append(d.faults, d.CheckStores(engine.Check))
	d.completeFields("", d.config, &d.Config)
}

// completeFields completes the value of each key below a path.
func (d *draft) completeFields(path string, fields []*field, of any) {
	for _, f := range fields {
		if err := f.complete(of); err != nil {
			d.fault(path+f.name, f.show(of), "%v", err)
		}
	}
}

// listening judges the addresses. Every host that reaches an address can use ids up,
// so an address that others can reach needs a token, and TLS to keep it.
func (d *draft) listening() {
	switch {
	case d.TLS.Certificate != "" && d.TLS.Key == "":
		d.fault(KeyCertificate, d.TLS.Certificate, "needs %s as well", KeyPrivateKey)
	case d.TLS.Key != "" && d.TLS.Certificate == "":
		d.fault(KeyPrivateKey, d.TLS.Key, "needs %s as well", KeyCertificate)
	case d.TLS.ClientCA != "" && d.TLS.Certificate == "":
		d.fault(KeyClientCA, d.TLS.ClientCA, "needs %s and %s as well", KeyCertificate, KeyPrivateKey)
	}
	if d.TokenFile != "" && d.TLS.ClientCA == "" && d.Thrift != "" {
		if d.originOf("thrift") != (Origin{}) {
			d.fault("thrift", d.Thrift, "Thrift has no tokens, and %s asks for one: set %s, so that clients show a certificate, or turn it off", KeyTokenFile, KeyClientCA)
		}
		d.Thrift = ""
	}
	fronts := slices.DeleteFunc(slices.Clone(d.config), func(f *field) bool { return !f.holds("address") })
	slices.SortFunc(fronts, func(a, b *field) int { // fronts at their defaults first
		return cmp.Or(cmp.Compare(d.originOf(a.Path).Source, d.originOf(b.Path).Source), cmp.Compare(a.Path, b.Path))
	})
	for i, front := range fronts {
		address := front.show(&d.Config)
		d.address(front.Path, address)
		for _, other := range fronts[:i] {
			if overlap(address, other.show(&d.Config)) {
				d.fault(front.Path, address, "is the address of %s, too: each front needs its own port", other.Path)
			}
		}
	}
}

// overlap reports whether two listeners of one host can't have these addresses.
func overlap(a, b string) bool {
	host, port, err := net.SplitHostPort(a)
	otherHost, otherPort, otherErr := net.SplitHostPort(b)
	every := func(host string) bool { return host == "" || host == "0.0.0.0" || host == "::" }
	named := func(host string) string { return strings.Replace(host, "localhost", "127.0.0.1", 1) }
	return err == nil && otherErr == nil && port == otherPort && port != "0" && (named(host) == named(otherHost) || every(host) || every(otherHost))
}

// address judges the address of one front.
func (d *draft) address(key, address string) {
	if address == "" {
		return
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		d.fault(key, address, "must be host:port, such as 127.0.0.1:7600")
		return
	}
	if n, err := parseNumber(port); err != nil || n > 65535 {
		d.fault(key, address, "the port must be a number from 0 to 65535")
	}
	guarded := d.TLS.Certificate != "" && (d.TokenFile != "" || d.TLS.ClientCA != "")
	if key != "health" && !Loopback(host) && !guarded && !d.Insecure {
		d.fault(key, address, "other hosts can reach this address: set %s, %s and %s, or allow it with insecure", KeyCertificate, KeyPrivateKey, KeyTokenFile)
	}
}

// Loopback reports whether a host, a name or a bare IP address, is for this machine alone.
func Loopback(host string) bool {
	if address, err := netip.ParseAddr(host); err == nil {
		return address.Unmap().IsLoopback()
	}
	return host == "localhost"
}
