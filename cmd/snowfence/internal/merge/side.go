package merge

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/overlap"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/internal/text"
	"snowfence.example/snowfence/store"
)

const (
	// MaxSides is the most sides of one merge: an id's sides are the bits of one number.
	MaxSides = 64

	// maxName is the longest name of a side.
	maxName = 32
)

// Side is one of what is to be merged.
type Side struct {
	// Name is what it is called: given, or else A, B, …
	Name string
	// Data are the sources of its ids, with their options behind a #, as they were
	// given. One may have a password.
	Data []string
	// Namespaces and Layouts are the systems that issue its ids.
	Namespaces []Namespace
	Layouts    []Foreign
}

// Namespace is a namespace of a store.
type Namespace struct {
	// Store is the store's URL. It may have a password.
	Store string
	// Name is the namespace's name; empty means the default one.
	Name string
}

// Foreign is a system that is not ours.
type Foreign struct {
	// Text is the layout as it was given.
	Text   string
	Layout snowfence.Layout
	// Workers are the worker numbers that it has, in ascending order and apart.
	Workers []overlap.Workers
	// Since and Until are when it began and when it was or will be stopped; zero
	// means the epoch and the last tick.
	Since, Until time.Time
}

// SideError is returned for a side that can't be read. It has no password.
type SideError struct {
	// Side is the side's name.
	Side string
	// Field, which may be empty, is at fault, Value is what it is, Limit what it must be.
	Field, Value, Limit string
	// Reason is the error below, or nil. It takes the place of an empty Limit.
	Reason error
}

// Error names the side, the field, the value and the limit.
func (e *SideError) Error() string {
	parts := []string{"side " + e.Side, e.Field, e.Limit}
	if e.Value != "" {
		parts[1] += " " + strconv.Quote(e.Value)
	}
	if e.Limit == "" && e.Reason != nil {
		parts[2] = text.Message(e.Reason)
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ": ")
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
//	layout:twitter#0-3                          another system, with worker ids 0 to 3
//	eu=players.csv eu=namespace:etcd://host     both, of one side with a name
//
// Parts with the same name before an = are one side; each of the others is a side
// of its own, called A, B and so on by its place. A path that looks like one
// of these can be given as ./path.
//
// The options behind the # of a source are for the program that opens it. Behind the #
// of a layout are worker numbers and ranges, and after slashes since=TIME and
// until=TIME.
//
// A *[SideError] is returned for a part that can't be read.
func ParseSides(args []string) ([]Side, error) {
	var sides []Side
	given := map[string]bool{} // whether the name of a side was given
	for i, arg := range args {
		name, part := splitName(arg)
		named := name != ""
		name = cmp.Or(name, letters(i))
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
	switch {
	case len(sides) < 2:
		return nil, errors.New("needs at least two sides, such as old=old.txt new=namespace:URL#NAME: parts with one name are one side; a part is a source of ids, namespace:URL#NAME or layout:SPEC")
	case len(sides) > MaxSides:
		return nil, fmt.Errorf("%d sides are too many: at most %d", len(sides), MaxSides)
	}
	return sides, nil
}

// splitName cuts the name of a side off; it is empty where none is given.
func splitName(arg string) (name, part string) {
	const letters, others = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789-_"
	name, part, ok := strings.Cut(arg, "=")
	if !ok || len(name) > maxName || strings.Trim(name, letters+others) != "" || strings.IndexAny(name, letters) != 0 {
		return "", arg
	}
	return name, part
}

// letters is the name of the side at a place: A to Z, then A1 and so on.
func letters(i int) string {
	name := string(rune('A' + i%26))
	if i >= 26 {
		name += strconv.Itoa(i / 26)
	}
	return name
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

// addNamespace reads URL#NAME. The name is behind the last #.
func (s *Side) addNamespace(part string) error {
	n := Namespace{Store: part}
	if at := strings.LastIndexByte(part, '#'); at >= 0 {
		n = Namespace{part[:at], part[at+1:]}
		if n.Name == "" {
			return &SideError{Side: s.Name, Field: "namespace", Limit: "has no name behind the #: must be 1 to 64 of [a-z0-9._-]"}
		}
		// It may be the end of a password, so it is not shown.
		if strings.ContainsAny(n.Name, "@/:") {
			return &SideError{Side: s.Name, Field: "namespace", Limit: "is no name behind the last #: must be 1 to 64 of [a-z0-9._-]; a # within the URL is written %23"}
		}
	}
	if n.Store == "" {
		return &SideError{Side: s.Name, Field: "store", Limit: "is empty: must be the URL of a store, as for --store"}
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
	f := Foreign{Text: spec, Layout: layout, Workers: []overlap.Workers{overlap.AllWorkers(layout)}}
	if !restricted {
		s.Layouts = append(s.Layouts, f)
		return nil
	}
	for i, word := range strings.Split(rest, "/") {
		since, isSince := strings.CutPrefix(word, "since=")
		until, isUntil := strings.CutPrefix(word, "until=")
		switch {
		case isSince:
			f.Since, err = s.parseTime("since", since)
		case isUntil:
			f.Until, err = s.parseTime("until", until)
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
func (s *Side) parseWorkers(l snowfence.Layout, list string) ([]overlap.Workers, error) {
	ranges, err := text.ParseRanges(list)
	if wrong := (*text.RangeError)(nil); errors.As(err, &wrong) {
		return nil, &SideError{Side: s.Name, Field: "worker numbers", Value: wrong.Part, Limit: wrong.Limit}
	}
	workers := make([]overlap.Workers, len(ranges))
	for i, r := range ranges {
		if most := l.Workers() - 1; r.Last > most {
			return nil, &SideError{Side: s.Name, Field: "worker numbers", Value: r.String(), Limit: fmt.Sprintf("must be from 0 to %d in the layout %s", most, l)}
		}
		workers[i] = overlap.Workers(r)
	}
	return workers, nil
}
