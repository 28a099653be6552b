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
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/engine"
)

// Complete returns the configuration with a value for everything that was left
// to its default, or an error that holds an [Error] for each thing that is
// wrong. What is complete already comes back as it is. Kinds are the names of
// the kinds of generator that the program knows beside its own.
func (c Config) Complete(kinds ...string) (Config, error) {
	v := &completion{Config: c, kinds: kinds}
	v.Generators = maps.Clone(c.Generators)
	v.common()
	v.listening()
	v.limits()
	if len(v.Generators) == 0 {
		v.Generators = map[string]Generator{DefaultGenerator: {}}
	}
	for _, name := range v.Names() {
		v.Generators[name] = v.generator(name, v.Generators[name])
	}
	v.together()
	return v.Config, errors.Join(v.faults...)
}

// Names returns the names of the generators in order.
func (c Config) Names() []string { return slices.Sorted(maps.Keys(c.Generators)) }

// Warnings returns what is odd about the sources but keeps nothing from
// working.
func (c Config) Warnings() []string { return slices.Clone(c.warnings) }

// completion is a configuration in the course of [Config.Complete].
type completion struct {
	Config
	kinds  []string
	faults []error
}

// fault notes that the value of a key is wrong. A value that was set nowhere is
// blamed on the place of the section around it.
func (v *completion) fault(key, value, reason string, args ...any) {
	origin := v.originOf(key)
	for at := key; origin == (Origin{}) && at != ""; {
		at = at[:max(strings.LastIndexByte(at, '.'), 0)]
		origin = v.origins[at]
	}
	v.faults = append(v.faults, &Error{origin, key, display(key, value), fmt.Sprintf(reason, args...)})
}

func (v *completion) common() {
	v.Namespace = cmp.Or(v.Namespace, "default")
	if v.Layout.Fields == nil {
		v.Layout = snowfence.DefaultLayout()
	}
	switch {
	case v.Store != "":
	case v.Data == "":
		v.fault(keyData, "", "no directory is known to keep the store in: set %s or %s", keyData, keyStore)
	default:
		v.Store = "file:" + filepath.Join(v.Data, "store")
	}
	if v.Store != "" {
		if err := engine.Check(v.Store); err != nil {
			var bad *engine.URLError
			if errors.As(err, &bad) {
				err = errors.New(bad.Reason)
			}
			v.fault(keyStore, v.Store, "%v", err)
		}
	}
	v.Log.Format = cmp.Or(v.Log.Format, "text")
	if v.Log.Format != "text" && v.Log.Format != "json" {
		v.fault("log.format", v.Log.Format, "must be text or json")
	}
}

// listening judges the addresses. Whoever reaches an address can use ids up,
// so an address that others can reach needs a token, and TLS to keep it.
func (v *completion) listening() {
	switch {
	case v.TLS.Certificate != "" && v.TLS.Key == "":
		v.fault("tls.certificate", v.TLS.Certificate, "needs tls.key as well")
	case v.TLS.Key != "" && v.TLS.Certificate == "":
		v.fault("tls.key", v.TLS.Key, "needs tls.certificate as well")
	}
	if v.HTTP == "" {
		return
	}
	host, port, err := net.SplitHostPort(v.HTTP)
	if err != nil {
		v.fault(keyHTTP, v.HTTP, "must be host:port, such as 127.0.0.1:7600")
		return
	}
	if n, err := parseNumber(port); err != nil || n > 65535 {
		v.fault(keyHTTP, v.HTTP, "the port must be a number from 0 to 65535")
	}
	guarded := v.TLS.Certificate != "" && v.TokenFile != ""
	if !Loopback(host) && !guarded && !v.Insecure {
		v.fault(keyHTTP, v.HTTP, "others than this host can reach this address: set tls.certificate, tls.key and %s, or allow it with insecure", keyTokenFile)
	}
}

// Loopback reports whether a host, a name or an IP address without brackets,
// is this machine as only itself can reach it.
func Loopback(host string) bool {
	if address, err := netip.ParseAddr(host); err == nil {
		return address.Unmap().IsLoopback()
	}
	return host == "localhost"
}

// limits sets the defaults and holds each limit to its own.
func (v *completion) limits() {
	fallback := DefaultLimits()
	l := &v.Limits
	within(v, "limits.batch", &l.Batch, fallback.Batch, 1, 1_000_000, strconv.Itoa)
	within(v, "limits.body", &l.Body, fallback.Body, 1<<10, 16<<20, showSize)
	within(v, "limits.header", &l.Header, fallback.Header, 4<<10, 1<<20, showSize)
	within(v, "limits.read-timeout", &l.ReadTimeout, fallback.ReadTimeout, 100*time.Millisecond, 10*time.Minute, time.Duration.String)
	within(v, "limits.write-timeout", &l.WriteTimeout, fallback.WriteTimeout, 100*time.Millisecond, 10*time.Minute, time.Duration.String)
	within(v, "limits.idle-timeout", &l.IdleTimeout, fallback.IdleTimeout, time.Second, time.Hour, time.Duration.String)
	within(v, "limits.drain", &l.Drain, fallback.Drain, time.Millisecond, 10*time.Minute, time.Duration.String)
}

func within[V cmp.Ordered](v *completion, key string, value *V, fallback, least, most V, show func(V) string) {
	*value = cmp.Or(*value, fallback)
	if *value < least || *value > most {
		v.fault(key, show(*value), "must be from %s to %s", show(least), show(most))
	}
}
