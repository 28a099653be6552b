package config

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence/daemon/engine"
)

// Value is one setting in effect.
type Value struct {
	Key    string // its path
	Text   string // as a source would write it, without passwords
	Origin Origin
	About  string // its line of help; empty for a setting of a kind
	// Unset is a setting without a value, such as a worker id that is not pinned, or the file of tokens
	// where clients need no token. Its text is empty, so a file must leave it out.
	Unset bool
}

// Values returns every setting in effect, in the order of [Keys], the generators by
// name. An unset setting shows its default.
func (c Config) Values() []Value {
	s, values := newSchema(), []Value(nil)
	add := func(prefix string, f *field, of any) {
		path := prefix + f.name
		if texts, ok := reflect.TypeAssert[map[string]string](f.in(of)); ok {
			for _, name := range slices.Sorted(maps.Keys(texts)) {
				at := join(path, name)
				values = append(values, Value{Key: at, Text: c.display(at, texts[name]), Origin: c.originOf(at)})
			}
			return
		}
		v := Value{Key: path, Text: c.display(path, f.show(of)), Origin: c.originOf(path), About: f.About}
		v.Unset = v.Text == "" && v.Origin == (Origin{}) && (prefix != "" || !f.canBeEmpty())
		values = append(values, v)
	}
	for _, f := range s.config {
		add("", f, &c)
	}
	for _, name := range c.Names() {
		g := c.Generators[name].InEffect()
		for _, f := range s.generator {
			if g.Fenced() || f.forEveryKind() {
				add(join(generatorSection, name, ""), f, &g)
			}
		}
	}
	return values
}

// Changed returns the keys whose values differ from another configuration's, in the order of [Keys].
func (c Config) Changed(other Config) []string {
	values := map[string]*string{}
	for _, v := range other.Values() {
		values[v.Key] = &v.Text
	}
	var keys []string
	for _, v := range c.Values() {
		if text := values[v.Key]; text == nil || *text != v.Text {
			keys = append(keys, v.Key)
		}
		delete(values, v.Key)
	}
	return append(keys, slices.Sorted(maps.Keys(values))...)
}

// originOf returns where the value of a key came from. A generator's unset value came from its preset
// or from the key of the same name.
func (c Config) originOf(path string) Origin {
	name, key, _ := splitGenerator(path)
	section, _, _ := strings.Cut(key, ".")
	origin := c.set[path].origin
	if section == "layout" || section == "policy" {
		origin = cmp.Or(origin, c.set[join(generatorSection, name, "preset")].origin)
	}
	if section == "layout" || section == "namespace" {
		origin = cmp.Or(origin, c.set[section].origin)
	}
	return origin
}

// Settings of kind opaque that name the place of its keys.
const (
	keyFile     = "key-file"
	keyVariable = "key-variable"
)

// secret is in each line of [opaque.ParseKeys]: the digits of the shortest secret.
var secret = regexp.MustCompile(`[0-9A-Fa-f]{32}`)

// display is a setting's text for people. Only the URLs of stores have secrets: tokens are files.
// Some are written where they do not belong, such as keys of kind opaque.
func display(path, text string) string {
	_, key, _ := splitGenerator(path)
	key, ofKind := strings.CutPrefix(key, settingSection+".")
	if isKey := strings.HasPrefix(key, "key") && key != keyFile && key != keyVariable; ofKind && (isKey || secret.MatchString(text)) {
		return engine.Hidden
	}
	if path == "store" || strings.HasPrefix(path, storeSection+".") || strings.ContainsAny(text, "@=") || strings.Contains(text, "://") {
		return engine.Redact(text)
	}
	return text
}

// display is that of a setting's text in effect. A store's URL is shown as it was written: the value of a variable may be a
// password, wherever it was put.
func (c Config) display(path, text string) string {
	return display(path, cmp.Or(c.written[text], text))
}

// brief cuts a text that is too long for a line about a fault.
func brief(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// mostText and mostReason are how many bytes such a line has of a setting and of a reason.
const mostText, mostReason = 200, 500

// hide has a reason show a setting as it is shown beside it.
func hide(reason, text, shown string) string {
	if text == shown || text == "" {
		return reason
	}
	return strings.NewReplacer(strconv.Quote(text), strconv.Quote(shown), text, shown).Replace(reason)
}

// ShowStore returns the URL of a store for people's eyes: as it was written, with ${NAME} for a variable, and without a password.
func (c Config) ShowStore(url string) string { return c.display("store", url) }

// Warnings returns the warnings about the sources.
func (c Config) Warnings() []string { return slices.Clone(c.warnings) }

// StoreWarnings returns which stores of a complete configuration are sent a password that others can read on the way.
func (c Config) StoreWarnings() (warnings []string) {
	err := c.CheckStores(func(url string) error {
		for _, address := range engine.SentInClear(url) {
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				host = strings.Trim(address, "[]") // without a port
			}
			if host != "" && !Loopback(host) {
				return &engine.URLError{URL: c.ShowStore(url), Reason: "the password goes to " + host + " without TLS: add tls=true, and ca=FILE for an authority of your own"}
			}
		}
		return nil
	})
	for _, f := range Faults(err) {
		warnings = append(warnings, fmt.Sprintf("%s: %s: %s", f.Origin, f.Key, f.Reason))
	}
	return warnings
}

// LayoutWarnings returns which generators of a complete configuration can't
// mint at an instant, or not for another year, as their time bits end before: the notice of package fence.
func (c Config) LayoutWarnings(now time.Time) []string {
	var warnings []string
	for _, name := range c.Names() {
		g, path := c.Generators[name], join(generatorSection, name, "layout")
		if g.filled == nil {
			continue
		}
		warn := func(format string, at time.Time) {
			warnings = append(warnings, fmt.Sprintf("%s: %s: %s: "+format, c.originOf(path), path, g.Layout, at.UTC().Format(time.DateOnly)))
		}
		switch horizon := g.Layout.Horizon(); {
		case now.Before(g.Layout.Epoch):
			warn("its epoch, %s, lies ahead: no ids can be minted before", g.Layout.Epoch)
		case !now.Before(horizon):
			warn("ran out on %s: no ids can be minted", horizon)
		case horizon.Sub(now) < g.filled.complete.HorizonNotice:
			warn("runs out on %s, in less than a year: plan another namespace", horizon)
		}
	}
	return warnings
}
