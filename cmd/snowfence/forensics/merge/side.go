package merge

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/source"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/internal/text"
	"snowfence.example/snowfence/store"
)

// MaxSides is the most sides of one merge.
const MaxSides = 64

// Side is a part of a merge. Its name is given, or else A, B, …
type Side struct {
	Name string
	// Data are the sources of its ids, as they were given. A source may have a password.
	Data []string
	// Namespaces and Layouts are the systems that issue its ids.
	Namespaces []Namespace
	Layouts    []Foreign
}

// Namespace is a namespace of a store, whose URL may have a password. An empty name
// means the default one.
type Namespace struct{ Store, Name string }

// Foreign is another system: a layout, as it was given, and its worker numbers in ascending
// order and apart.
type Foreign struct {
	Text    string
	Layout  snowfence.Layout
	Workers []Workers
}

// SideError is returned for a side that can't be read. It has no password.
type SideError struct {
	Side   string
	Reason error
}

// Error names the side and the reason.
func (e *SideError) Error() string { return "side " + e.Side + ": " + text.Message(e.Reason) }

// Class is that of the reason, and [snowfence.ClassUsage] for a store that does not exist.
// It is never [snowfence.ClassFinal], as exit code 1 is a verdict.
func (e *SideError) Class() snowfence.Class {
	switch class := snowfence.ClassOf(e.Reason); {
	case errors.Is(e.Reason, store.ErrNoStore):
		return snowfence.ClassUsage
	case class == snowfence.ClassUsage, class == snowfence.ClassInvalidID:
		return class
	}
	return snowfence.ClassUnavailable
}

// Unwrap returns the reason.
func (e *SideError) Unwrap() error { return e.Reason }

// wrong makes a [SideError] about a part of the side.
func (s *Side) wrong(format string, args ...any) error {
	return &SideError{s.Name, source.UsageError(fmt.Sprintf(format, args...))}
}

// ParseSides reads the sides of a command line:
//
//	players.csv#id                             a source of ids, a column of CSV
//	postgres://user@host/db#select id from t   a column of a database
//	namespace:file:/srv/ids#orders             a namespace of a store
//	layout:twitter#0-3                         another system, with worker ids 0 to 3
//	eu=players.csv eu=namespace:etcd://host    both, of one side with a name
//
// Parts with one name are one side. Each other part is a side of its own, called A, B and so
// on by its place. A path that looks like a namespace or layout is given as ./path. A
// *[SideError] is returned for a part that can't be read.
func ParseSides(args []string) ([]Side, error) {
	var sides []Side
	given := map[string]bool{} // whether the name of a side was given
	for i, arg := range args {
		name, part := string(rune('A'+i%26))+strings.TrimPrefix(strconv.Itoa(i/26), "0"), arg
		parts := sideName.FindStringSubmatch(arg)
		if parts != nil {
			name, part = parts[1], arg[len(parts[0]):]
		}
		at := slices.IndexFunc(sides, func(s Side) bool { return s.Name == name })
		if at < 0 {
			at = len(sides)
			sides, given[name] = append(sides, Side{Name: name}), parts != nil
		} else if parts == nil || !given[name] {
			return nil, sides[at].wrong("name: is the name of the side before it too: give both names")
		}
		if err := sides[at].add(part); err != nil {
			return nil, err
		}
	}
	if len(sides) < 2 || len(sides) > MaxSides {
		return nil, fmt.Errorf("needs at least two sides, such as old=old.txt new=namespace:URL#NAME, and at most %d: "+
			"parts with one name are one side; a part is a source of ids, namespace:URL#NAME or layout:SPEC", MaxSides)
	}
	return sides, nil
}

// sideName is the name of a side before a part.
var sideName = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_-]{0,31})=`)

// add reads one part of the side.
func (s *Side) add(part string) error {
	namespace, isNamespace := strings.CutPrefix(part, "namespace:")
	layout, isLayout := strings.CutPrefix(part, "layout:")
	switch {
	case part == "":
		return s.wrong("source: is empty: must be a file, - for standard input, the URL of a database, namespace:URL#NAME or layout:SPEC")
	case isNamespace:
		return s.addNamespace(namespace)
	case isLayout:
		return s.addLayout(layout)
	case engine.IsStore(part):
		scheme, _, _ := strings.Cut(part, ":")
		return s.wrong("source %q: is a store and no source of ids: write namespace:URL#NAME for a namespace in it", scheme+":…")
	}
	s.Data = append(s.Data, part)
	return nil
}

// addNamespace reads URL#NAME. The name is behind the last #. A wrong name is not shown: it
// may be the end of a password.
func (s *Side) addNamespace(part string) error {
	n := Namespace{Store: part}
	if at := strings.LastIndexByte(part, '#'); at >= 0 {
		if n = (Namespace{part[:at], part[at+1:]}); n.Name == "" || strings.ContainsAny(n.Name, "@/:") {
			return s.wrong("namespace: has no name behind the last #: must be 1 to 64 of [a-z0-9._-]; a # within the URL is written %%23")
		}
	}
	if n.Store == "" {
		return s.wrong("namespace: is empty: must be the URL of a store, as for --store")
	}
	s.Namespaces = append(s.Namespaces, n)
	return nil
}

// errWide is returned for ids of more than 64 bits.
var errWide = errors.New("is wide: ids of at most 64 bits are compared")

// addLayout reads SPEC#WORKERS.
func (s *Side) addLayout(part string) error {
	spec, list, restricted := strings.Cut(part, "#")
	layout, err := snowfence.ParseLayout(spec)
	if err == nil && layout.Wide {
		err = errWide
	}
	if err != nil {
		return s.wrong("layout %q: %s", spec, text.Message(err))
	}
	f := Foreign{Text: spec, Layout: layout, Workers: []Workers{allWorkers(layout)}}
	if restricted {
		if f.Workers, err = s.parseWorkers(layout, list); err != nil {
			return err
		}
	}
	s.Layouts = append(s.Layouts, f)
	return nil
}

// parseWorkers reads worker numbers and ranges: 0-3,8.
func (s *Side) parseWorkers(l snowfence.Layout, list string) ([]Workers, error) {
	ranges, err := text.ParseRanges(list)
	if err != nil {
		return nil, s.wrong("worker numbers %s", text.Message(err))
	}
	workers := make([]Workers, len(ranges))
	for i, r := range ranges {
		if most := l.Workers() - 1; r.Last > most {
			return nil, s.wrong("worker numbers %q: must be from 0 to %d in the layout %s", r.String(), most, l)
		}
		workers[i] = Workers(r)
	}
	return workers, nil
}
