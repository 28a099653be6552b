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
		return strings.TrimSuffix(strings.TrimSuffix(fmt.Sprintf("%s:%d:%d", o.Name, o.Line, o.Column), ":0"), ":0")
	case FromEnvironment:
		return "$" + o.Name
	case FromFlag:
		return "--" + o.Name
	}
	return "default"
}

// Error is one fault of a configuration. [Load] and
// [Config.Complete] return as many as they find, joined by [Join].
type Error struct {
	Origin Origin
	Key    string // the setting's path; empty when the file as a whole is at fault
	Value  string // without passwords; empty when the key itself is at fault
	Reason string // the fault, and the limit
}

// Of reports whether the error is about a generator or one of its settings.
func (e *Error) Of(generator string) bool {
	name, _, ok := splitGenerator(e.Key)
	return ok && name == generator
}

// Error returns "origin: key: "value": reason", without the empty parts.
func (e *Error) Error() string {
	message := "config: "
	if e.Origin.Source != FromDefault {
		message += e.Origin.String() + ": "
	}
	if e.Key != "" && (e.Origin.Source != FromFlag || e.Origin.Name != e.Key) {
		message += e.Key + ": "
	}
	if e.Value != "" {
		message += strconv.Quote(e.Value) + ": "
	}
	return message + e.Reason
}

// Class is [snowfence.ClassUsage].
func (*Error) Class() snowfence.Class { return snowfence.ClassUsage }

// faultAt notes that a source has a wrong value for a key.
func (d *draft) faultAt(origin Origin, key, value, reason string, args ...any) {
	d.faults = append(d.faults, newError(origin, key, value, fmt.Sprintf(reason, args...)))
}

// fault notes that the value of a key is wrong.
func (d *draft) fault(key, value, reason string, args ...any) {
	d.faults = append(d.faults, d.Fault(key, value, fmt.Sprintf(reason, args...)))
}

// newError cuts texts that are too long for a line.
func newError(origin Origin, key, value, reason string) *Error {
	return &Error{origin, brief(key, mostText), brief(value, mostText), brief(reason, mostReason)}
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
	return c.Fault(join(generatorSection, generator, "store"), strings.Join(g.Stores, ","), reason)
}

// CheckStores joins the errors of check for the URL of each store, at the store's key: a
// *[engine.URLError] becomes an [*Error]. Check parses the URLs of each engine, like package openstore:
// this package does not link the engines.
func (c Config) CheckStores(check func(url string) error) error {
	var faults []error
	judge := func(path, url string) {
		err := check(url)
		if bad, ok := errors.AsType[*engine.URLError](err); ok {
			err = c.Fault(path, url, bad.Reason)
		}
		faults = append(faults, err)
	}
	if c.Store != "" {
		judge("store", c.Store)
	}
	for name, url := range c.Stores {
		judge(join(storeSection, name), url)
	}
	return Join(faults...)
}

// Join joins errors as errors.Join does. It takes joined errors apart, keeps each [Error] once, in the
// order of its place and key, and puts other errors last.
func Join(errs ...error) error {
	faults, others := apart(errs)
	slices.SortStableFunc(faults, func(x, y *Error) int {
		p, q := x.Origin, y.Origin
		return cmp.Or(
			cmp.Compare(p.Source, q.Source), cmp.Compare(p.Name, q.Name), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column),
			cmp.Compare(x.Key, y.Key), cmp.Compare(x.Reason, y.Reason),
		)
	})
	var all []error
	for _, fault := range slices.CompactFunc(faults, func(x, y *Error) bool { return *x == *y }) {
		all = append(all, fault)
	}
	return errors.Join(append(all, others...)...)
}

// Faults returns each [Error] that an error of this package holds, in order.
func Faults(err error) []*Error {
	faults, _ := apart([]error{err})
	return faults
}

// apart takes joined errors apart.
func apart(errs []error) (faults []*Error, others []error) {
	for _, err := range errs {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			f, o := apart(joined.Unwrap())
			faults, others = append(faults, f...), append(others, o...)
		} else if fault, ok := errors.AsType[*Error](err); ok {
			faults = append(faults, fault)
		} else if err != nil {
			others = append(others, err)
		}
	}
	return faults, others
}
