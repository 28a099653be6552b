package merge

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/internal/text"
	"snowfence.example/snowfence/store"
)

// MaxSides is the most sides of one merge: an id's sides are the bits of one number.
const MaxSides = 64

// Side is a part of a merge. Its name is given, or else A, B, …
type Side struct {
	Name string
	// Data are the sources of its ids, as they were given. One may have a password.
	Data []string
	// Namespaces and Layouts are the systems that issue its ids.
	Namespaces []Namespace
	Layouts    []Foreign
}

// Namespace is a namespace of a store, whose URL may have a password. An empty name
// means the default one.
type Namespace struct{ Store, Name string }

// Foreign is another system: a layout, as it was given, and the worker numbers that it
// has, in ascending order and apart. Since and Until are when it began and when it was or
// will be stopped; zero means the epoch and the last tick.
type Foreign struct {
	Text         string
	Layout       snowfence.Layout
	Workers      []Workers
	Since, Until time.Time
}

// SideError is returned for a side that can't be read. It has no password. Field, which
// may be empty, has the value Value and must keep to Limit. Reason is the error below, or
// nil. It takes the place of an empty Limit.
type SideError struct {
	Side, Field, Value, Limit string
	Reason                    error
}

// Error names the side, the field, the value and the limit.
func (e *SideError) Error() string {
	said := "side " + e.Side
	if e.Field != "" {
		said += ": " + e.Field
	}
	if e.Value != "" {
		said += " " + strconv.Quote(e.Value)
	}
	if e.Limit != "" || e.Reason == nil {
		return said + ": " + e.Limit
	}
	return said + ": " + text.Message(e.Reason)
}

// Class is that of the reason, and [snowfence.ClassUsage] without one or for a store
// that does not exist. It is never [snowfence.ClassFinal], as exit code 1 is a verdict.
func (e *SideError) Class() snowfence.Class {
	switch class := snowfence.ClassOf(e.Reason); {
	case e.Reason == nil || errors.Is(e.Reason, store.ErrNoStore):
		return snowfence.ClassUsage
	case class == snowfence.ClassUsage, class == snowfence.ClassInvalidID:
		return class
	}
	return snowfence.ClassUnavailable
}

// Unwrap returns the reason.
func (e *SideError) Unwrap() error { return e.Reason }

// ParseSides reads what a command line names:
//
//	players.csv#column=id                       a source of ids, with its options
//	postgres://user@host/db#table=t,column=id   a column of a database
//	namespace:file:/srv/ids#orders              a namespace of a store
//	layout:twitter#0-3/until=2026-01-01         another system, with worker ids 0 to 3
//	eu=players.csv eu=namespace:etcd://host     both, of one side with a name
//
// Parts with one name are one side. Each other part is a side of its own, called A, B and so
// on by its place. A path that looks like a namespace or layout is given as ./path. A
// *[SideError] is returned for a part that can't be read.
func ParseSides(args []string) ([]Side, error) {
	var sides []Side
	given := map[string]bool{} // whether the name of a side was given
	for i, arg := range args {
		name, part, named := named(arg)
		if !named {
			name = string(rune('A'+i%26)) + strings.TrimPrefix(strconv.Itoa(i/26), "0")
		}
		at := slices.IndexFunc(sides, func(s Side) bool { return s.Name == name })
		if at < 0 {
			sides = append(sides, Side{Name: name})
			at = len(sides) - 1
			given[name] = named
		} else if !named || !given[name] {
			return nil, &SideError{Side: name, Field: "name", Limit: "is the name of the side before it too: give both names"}
		}
		if err := sides[at].add(part); err != nil {
			return nil, err
		}
	}
	if len(sides) < 2 || len(sides) > MaxSides {
		return nil, fmt.Errorf("needs at least two sides, such as old=old.txt new=namespace:URL#NAME, and at most %d: parts with one name are one side; a part is a source of ids, namespace:URL#NAME or layout:SPEC", MaxSides)
	}
	return sides, nil
}

// named cuts the name of a side off.
func named(arg string) (name, part string, ok bool) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	name, part, ok = strings.Cut(arg, "=")
	if !ok || len(name) > 32 || strings.Trim(name, letters+"0123456789-_") != "" || strings.IndexAny(name, letters) != 0 {
		return "", arg, false
	}
	return name, part, true
}

// add reads one part of the side.
func (s *Side) add(part string) error {
	namespace, isNamespace := strings.CutPrefix(part, "namespace:")
	layout, isLayout := strings.CutPrefix(part, "layout:")
	switch {
	case part == "":
		return &SideError{Side: s.Name, Field: "source", Limit: "is empty: must be a file, - for standard input, the URL of a database, namespace:URL#NAME or layout:SPEC"}
	case isNamespace:
		return s.addNamespace(namespace)
	case isLayout:
		return s.addLayout(layout)
	case engine.IsStore(part):
		scheme, _, _ := strings.Cut(part, ":")
		return &SideError{Side: s.Name, Field: "source", Value: scheme + ":…", Limit: "is a store and no source of ids: write namespace:URL#NAME for a namespace in it"}
	}
	s.Data = append(s.Data, part)
	return nil
}

// addNamespace reads URL#NAME. The name is behind the last #. It is not shown where it is
// none: it may be the end of a password.
func (s *Side) addNamespace(part string) error {
	n, wrong := Namespace{Store: part}, ""
	if at := strings.LastIndexByte(part, '#'); at >= 0 {
		if n = (Namespace{part[:at], part[at+1:]}); n.Name == "" || strings.ContainsAny(n.Name, "@/:") {
			wrong = "has no name behind the last #: must be 1 to 64 of [a-z0-9._-]; a # within the URL is written %23"
		}
	}
	if n.Store == "" {
		wrong = "is empty: must be the URL of a store, as for --store"
	}
	if wrong != "" {
		return &SideError{Side: s.Name, Field: "namespace", Limit: wrong}
	}
	s.Namespaces = append(s.Namespaces, n)
	return nil
}

// errWide is returned for ids of more than 64 bits.
var errWide = errors.New("is wide: ids of at most 64 bits are compared")

// addLayout reads SPEC#WORKERS/since=TIME/until=TIME.
func (s *Side) addLayout(part string) error {
	spec, rest, restricted := strings.Cut(part, "#")
	layout, err := snowfence.ParseLayout(spec)
	if err == nil && layout.Wide {
		err = errWide
	}
	if err != nil {
		return &SideError{Side: s.Name, Field: "layout", Value: spec, Reason: err}
	}
	f := Foreign{Text: spec, Layout: layout, Workers: []Workers{AllWorkers(layout)}}
	for i, word := range strings.Split(rest, "/") {
		key, value, _ := strings.Cut(word, "=")
		switch {
		case !restricted:
		case key == "since":
			f.Since, err = s.parseTime(key, value)
		case key == "until":
			f.Until, err = s.parseTime(key, value)
		case i == 0:
			f.Workers, err = s.parseWorkers(layout, word)
		default:
			err = &SideError{Side: s.Name, Field: "layout's option", Value: word, Limit: "must be since=TIME or until=TIME"}
		}
		if err != nil {
			return err
		}
	}
	if !f.Until.IsZero() && !f.Since.Before(f.Until) {
		return &SideError{Side: s.Name, Field: "until", Value: f.Until.Format(time.RFC3339Nano), Limit: "must be after since"}
	}
	s.Layouts = append(s.Layouts, f)
	return nil
}

func (s *Side) parseTime(field, word string) (time.Time, error) {
	for _, form := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(form, word); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, &SideError{Side: s.Name, Field: field, Value: word, Limit: "must be a date, or a time with its zone such as 2026-11-21T10:00:00Z"}
}

// parseWorkers reads worker numbers and ranges: 0-3,8.
func (s *Side) parseWorkers(l snowfence.Layout, list string) ([]Workers, error) {
	ranges, err := text.ParseRanges(list)
	if wrong := (*text.RangeError)(nil); errors.As(err, &wrong) {
		return nil, &SideError{Side: s.Name, Field: "worker numbers", Value: wrong.Part, Limit: wrong.Limit}
	}
	workers := make([]Workers, len(ranges))
	for i, r := range ranges {
		if most := l.Workers() - 1; r.Last > most {
			return nil, &SideError{Side: s.Name, Field: "worker numbers", Value: r.String(), Limit: fmt.Sprintf("must be from 0 to %d in the layout %s", most, l)}
		}
		workers[i] = Workers(r)
	}
	return workers, nil
}
