package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/engine"
)

// Complete returns the configuration with a value for all that was left to its default,
// or an error with an [Error] for each thing that is wrong. What is complete comes back
// as it is. Kinds are the kinds of generator that the program has.
func (c Config) Complete(kinds ...string) (Config, error) {
	v := &completion{Config: c, kinds: kinds}
	v.Generators = maps.Clone(c.Generators)
	v.common()
	v.listening()
	if len(v.Generators) == 0 {
		v.Generators = map[string]Generator{DefaultGenerator: {}}
	}
	v.agree()
	for _, name := range v.Names() {
		v.Generators[name] = v.generator(name, v.Generators[name])
	}
	v.aliases()
	v.together()
	if _, ok := v.Generators[v.ThriftGenerator]; !ok && v.ThriftGenerator != DefaultGenerator {
		v.fault(keyThriftGen, v.ThriftGenerator, "must be one of the generators: %s", strings.Join(v.Names(), ", "))
	}
	return v.Config, Join(v.faults...)
}

// Names returns the names of the generators in order.
func (c Config) Names() []string { return slices.Sorted(maps.Keys(c.Generators)) }

// Journals is the folder with a folder for each generator's journal. Without a Data directory there is none.
func (c Config) Journals() string { return filepath.Join(c.Data, "journal") }

// completion is a configuration in the course of [Config.Complete].
type completion struct {
	Config
	kinds  []string
	faults []error

	anyLayout bool // no layout is given for all generators
}

// fault notes that the value of a key is wrong.
func (v *completion) fault(key, value, reason string, args ...any) {
	v.faults = append(v.faults, v.Fault(key, value, fmt.Sprintf(reason, args...)))
}

// Fault returns the [*Error] that the value of a key can't be used. A value that
// was set nowhere is blamed on the place of the section around it.
func (c Config) Fault(key, value, reason string) error {
	origin := c.originOf(key)
	for at := key; origin == (Origin{}) && at != ""; {
		at = at[:max(strings.LastIndexByte(at, '.'), 0)]
		origin = c.origins[at]
	}
	shown := c.display(key, value)
	return &Error{origin, brief(key), brief(shown), cut(hide(reason, value, shown), mostReason)}
}

// SettingFault returns the [*Error] that a generator's kind refuses a setting.
func (c Config) SettingFault(generator, key, reason string) error {
	return c.Fault(join(generatorSection, generator, settingSection, key), c.Generators[generator].Settings[key], reason)
}

// StoreFault returns the [*Error] that a generator's kind can't use the stores that it has.
func (c Config) StoreFault(generator, reason string) error {
	g := c.Generators[generator]
	return c.Fault(join(generatorSection, generator, keyStore), strings.Join(g.Stores, ","), reason)
}

// CheckStores joins what check says of the URL of each store, at the store's key: a *[engine.URLError] becomes an
// [*Error]. Check knows the engines, such as package openstore does: this package links none of them.
func (c Config) CheckStores(check func(url string) error) error {
	urls := map[string]string{}
	if c.Store != "" {
		urls[keyStore] = c.Store
	}
	for name, url := range c.Stores {
		urls[join(storeSection, name)] = url
	}
	var faults []error
	for path, url := range urls {
		err := check(url)
		if bad := new(engine.URLError); errors.As(err, &bad) {
			err = c.Fault(path, url, bad.Reason)
		}
		faults = append(faults, err)
	}
	return Join(faults...)
}

// StoresOf returns the URLs of what a generator uses: one, or more of a kind that counts on
// several servers.
func (c Config) StoresOf(g Generator) []string {
	if len(g.Stores) == 0 {
		return []string{c.Store}
	}
	urls := make([]string, len(g.Stores))
	for i, name := range g.Stores {
		urls[i] = c.Stores[name]
	}
	return urls
}

func (v *completion) common() {
	if v.anyLayout = v.Layout.IsZero(); v.anyLayout {
		v.Layout = snowfence.DefaultLayout()
	}
	v.Store = cmp.Or(v.Stores[v.Store], v.Store)
	switch {
	case v.Store != "":
	case v.Data == "":
		v.fault(keyData, "", "no directory is known to keep the store in: set --%s, $%s or %s", keyData, environmentName(keyData), keyStore)
	default:
		v.Store = "file:" + filepath.Join(v.Data, "store")
	}
	v.faults = append(v.faults, v.CheckStores(engine.Check))
	v.complete("", configKeys(), &v.Config)
}

// complete completes the value of each key below a path.
func (v *completion) complete(path string, keys []field, of any) {
	for _, f := range keys {
		if err := f.complete(of); err != nil {
			v.fault(path+f.Path, f.show(of), "%v", err)
		}
	}
}

// listening judges the addresses. Whoever reaches an address can use ids up,
// so an address that others can reach needs a token, and TLS to keep it.
func (v *completion) listening() {
	switch {
	case v.TLS.Certificate != "" && v.TLS.Key == "":
		v.fault(KeyCertificate, v.TLS.Certificate, "needs %s as well", KeyPrivateKey)
	case v.TLS.Key != "" && v.TLS.Certificate == "":
		v.fault(KeyPrivateKey, v.TLS.Key, "needs %s as well", KeyCertificate)
	case v.TLS.ClientCA != "" && v.TLS.Certificate == "":
		v.fault(KeyClientCA, v.TLS.ClientCA, "needs %s and %s as well", KeyCertificate, KeyPrivateKey)
	}
	if v.TokenFile != "" && v.TLS.ClientCA == "" && v.Thrift != "" {
		if v.originOf(keyThrift) != (Origin{}) {
			v.fault(keyThrift, v.Thrift, "Thrift has no tokens, and %s asks for one: set %s, so that clients show a certificate, or turn it off", KeyTokenFile, KeyClientCA)
		}
		v.Thrift = ""
	}
	addresses := map[string]string{keyHTTP: v.HTTP, keyRESP: v.RESP, keyGRPC: v.GRPC, keyThrift: v.Thrift, keyAdmin: v.Admin, keyHealth: v.Health}
	keys := slices.SortedFunc(maps.Keys(addresses), func(a, b string) int { // those at their defaults first
		return cmp.Or(cmp.Compare(v.originOf(a).Source, v.originOf(b).Source), cmp.Compare(a, b))
	})
	for i, key := range keys {
		v.address(key, addresses[key])
		for _, other := range keys[:i] {
			if overlap(addresses[key], addresses[other]) {
				v.fault(key, addresses[key], "is the address of %s, too: each front needs its own port", other)
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
func (v *completion) address(key, address string) {
	if address == "" {
		return
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		v.fault(key, address, "must be host:port, such as 127.0.0.1:7600")
		return
	}
	if n, err := parseNumber(port); err != nil || n > 65535 {
		v.fault(key, address, "the port must be a number from 0 to 65535")
	}
	guarded := v.TLS.Certificate != "" && (v.TokenFile != "" || v.TLS.ClientCA != "")
	if key != keyHealth && !Loopback(host) && !guarded && !v.Insecure {
		v.fault(key, address, "other hosts can reach this address: set %s, %s and %s, or allow it with insecure", KeyCertificate, KeyPrivateKey, KeyTokenFile)
	}
}

// Loopback reports whether a host, a name or a bare IP address, is for this machine alone.
func Loopback(host string) bool {
	if address, err := netip.ParseAddr(host); err == nil {
		return address.Unmap().IsLoopback()
	}
	return host == "localhost"
}
