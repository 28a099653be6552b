package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"snowfence.example/snowfence"
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
	Source Source
	// Name is the file's path, the variable's name or the flag's name.
	Name string
	// Line and Column count from 1. They are zero except for a file.
	Line, Column int
}

// String returns the origin as people read it: "snowfence.yaml:3:7",
// "$SNOWFENCE_HTTP", "--http" or "default".
func (o Origin) String() string {
	switch o.Source {
	case FromFile:
		switch {
		case o.Line == 0:
			return o.Name
		case o.Column == 0:
			return fmt.Sprintf("%s:%d", o.Name, o.Line)
		}
		return fmt.Sprintf("%s:%d:%d", o.Name, o.Line, o.Column)
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
	// Origin is where the setting came from.
	Origin Origin
	// Key is the setting's path, empty when the file as a whole is at fault.
	Key string
	// Value is the text without passwords, empty when the key itself is at fault.
	Value string
	// Reason says what is wrong, and the limit.
	Reason string
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
