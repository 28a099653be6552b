package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/engine"
)

// Source is a place that a setting can come from.
type Source uint8

// The sources, the weakest first: a setting from a later one replaces an earlier one's.
const (
	FromDefault Source = iota
	FromFile
	FromEnvironment
	FromFlag

	noSource
)

// Origin is where a setting came from. The zero Origin is the default.
type Origin struct {
	Source       Source
	Name         string // of the file, with its path, of the variable or of the flag
	Line, Column int    // of a file, from 1
}

// String returns the origin as people read it: "snowfence.yaml:3:7",
// "$SNOWFENCE_HTTP", "--http" or "default".
func (o Origin) String() string {
	switch o.Source {
	case FromFile:
		line, column := fmt.Sprintf(":%d", o.Line), fmt.Sprintf(":%d", o.Column)
		return strings.TrimSuffix(strings.TrimSuffix(o.Name+line+column, ":0"), ":0")
	case FromEnvironment:
		return "$" + o.Name
	case FromFlag:
		return "--" + o.Name
	}
	return "default"
}

// Error is one thing that is wrong with a configuration. [Load] and
// [Config.Complete] return as many as they find, joined by [Join].
type Error struct {
	Origin Origin
	Key    string // the setting's path; empty when the file as a whole is at fault
	Value  string // without passwords; empty when the key itself is at fault
	Reason string // what is wrong, and the limit
}

// Of reports whether the error is about a generator or one of its settings.
func (e *Error) Of(generator string) bool {
	name, _, ok := splitGenerator(e.Key)
	return ok && name == generator
}

// Error returns "origin: key: "value": reason", without what is empty.
func (e *Error) Error() string {
	parts := []string{"config"}
	if e.Origin.Source != FromDefault {
		parts = append(parts, e.Origin.String())
	}
	if e.Key != "" && (e.Origin.Source != FromFlag || e.Origin.Name != e.Key) {
		parts = append(parts, e.Key)
	}
	if e.Value != "" {
		parts = append(parts, strconv.Quote(e.Value))
	}
	return strings.Join(append(parts, e.Reason), ": ")
}

// Class is [snowfence.ClassUsage].
func (*Error) Class() snowfence.Class { return snowfence.ClassUsage }

// faultAt notes that a source has a wrong value for a key.
func (d *draft) faultAt(origin Origin, key, value, reason string, args ...any) {
	d.faults = append(d.faults, newError(origin, key, value, fmt.Sprintf(reason, args...)))
}

// newError cuts what is too long for a line.
func newError(origin Origin, key, value, reason string) *Error {
	return &Error{origin, brief(key), brief(value), cut(reason, mostReason)}
}

// Fault returns the [*Error] that the value of a key can't be used. A value that
// was set nowhere is blamed on the place of the section around it.
func (c Config) Fault(key, value, reason string) error {
	origin := c.originOf(key)
	for at := key; origin == (Origin{}) && at != ""; {
		at = at[:max(strings.LastIndexByte(at, '.'), 0)]
		origin = c.set[at].origin
	}
	shown := c.display(key, value)
	return newError(origin, key, shown, hide(reason, value, shown))
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
		if bad, ok := errors.AsType[*engine.URLError](err); ok {
			err = c.Fault(path, url, bad.Reason)
		}
		faults = append(faults, err)
	}
	return Join(faults...)
}

// Join joins errors as errors.Join does, those that are joined already one by
// one, and each [Error] once, in the order of its place and key, other errors last.
func Join(errs ...error) error {
	all := apart(errs)
	slices.SortStableFunc(all, func(a, b error) int {
		x, y := faultOf(a), faultOf(b)
		p, q := x.Origin, y.Origin
		return cmp.Or(
			cmp.Compare(p.Source, q.Source), cmp.Compare(p.Name, q.Name), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column),
			cmp.Compare(x.Key, y.Key), cmp.Compare(x.Reason, y.Reason),
		)
	})
	all = slices.CompactFunc(all, func(a, b error) bool {
		x, y := faultOf(a), faultOf(b)
		return x.Origin.Source != noSource && *x == *y
	})
	return errors.Join(all...)
}

// faultOf returns the Error that an error is, or one that sorts behind all.
func faultOf(err error) *Error {
	fault := &Error{Origin: Origin{Source: noSource}}
	errors.As(err, &fault)
	return fault
}

// apart takes joined errors apart.
func apart(errs []error) []error {
	var all []error
	for _, err := range errs {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			all = append(all, apart(joined.Unwrap())...)
		} else if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// Faults returns each [Error] that an error of this package holds, in order.
func Faults(err error) []*Error {
	var faults []*Error
	for _, err := range apart([]error{err}) {
		if fault := faultOf(err); fault.Origin.Source != noSource {
			faults = append(faults, fault)
		}
	}
	return faults
}
