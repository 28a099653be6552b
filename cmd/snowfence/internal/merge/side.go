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
	"snowfence.example/snowfence/cmd/snowfence/internal/engine"
	"snowfence.example/snowfence/cmd/snowfence/internal/overlap"
)

const (
	// MaxSides is the most sides of one merge: which of them an id stands on is
	// kept in the bits of one number.
	MaxSides = 64

	// maxName is the longest name of a side, and maxRanges the most ranges of
	// worker numbers of a layout.
	maxName   = 32
	maxRanges = 4096

	// NamespacePrefix begins a part that is a namespace in a store.
	NamespacePrefix = "namespace:"
	// LayoutPrefix begins a part that is another system. Whatever begins with neither
	// is a source of ids.
	LayoutPrefix = "layout:"
)

// Side is one of what is to be merged.
type Side struct {
	// Name is what it is called: given, or else A, B, …
	Name string
	// Data are where its ids stand: sources, with their options behind a #, as they
	// were given. One may have a password.
	Data []string
	// Namespaces and Layouts are what issues its ids.
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

// Foreign is a system that is not ours: a layout, and which of it there is.
type Foreign struct {
	// Text is what was given for the layout.
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
	// Field is what of it is at fault, Value what it is and Limit what it must be.
	Field, Value, Limit string
	// Reason is the error below, or nil.
	Reason error
}

// Error names the side, the field, the value and the limit.
func (e *SideError) Error() string {
	text := fmt.Sprintf("side %s: %s", e.Side, e.Field)
	if e.Value != "" {
		text += " " + strconv.Quote(e.Value)
	}
	if e.Reason != nil {
		return text + ": " + strings.TrimPrefix(e.Reason.Error(), "snowfence: ")
	}
	return text + ": " + e.Limit
}

// Class is [snowfence.ClassUsage].
func (*SideError) Class() snowfence.Class { return snowfence.ClassUsage }

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
// of its own, called A, B and so on by where it stands. A path that looks like one
// of these can be given as ./path.
//
// What stands behind the # of a source is for who opens it to read. Behind that of a
// layout stand worker numbers and ranges, and after slashes since=TIME and
// until=TIME.
//
// A *[SideError] is returned for a part that can't be read, and for sides that are
// too few or too many.
func ParseSides(args []string) ([]Side, error) {
	var sides []Side
	given := map[string]bool{} // whether the name of a side was given
	for i, arg := range args {
		name, part := splitName(arg)
		named := name != ""
		if name == "" {
			name = letters(i)
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
	switch {
	case len(sides) < 2:
		return nil, errors.New("needs at least two sides: sources of ids, namespace:URL#NAME or layout:SPEC")
	case len(sides) > MaxSides:
		return nil, fmt.Errorf("%d sides are too many: at most %d", len(sides), MaxSides)
	}
	return sides, nil
}

// splitName cuts the name of a side off; it is empty where none is given.
func splitName(arg string) (name, part string) {
	name, part, ok := strings.Cut(arg, "=")
	if !ok || name == "" || len(name) > maxName || !letter(name[0]) {
		return "", arg
	}
	for _, c := range []byte(name) {
		if !letter(c) && (c < '0' || c > '9') && c != '-' && c != '_' {
			return "", arg
		}
	}
	return name, part
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// letters is the name of the side that stands there: A to Z, then A1 and so on.
func letters(i int) string {
	name := string(rune('A' + i%26))
	if i >= 26 {
		name += strconv.Itoa(i / 26)
	}
	return name
}

// add reads one part of the side.
func (s *Side) add(part string) error {
	switch {
	case part == "":
		return &SideError{Side: s.Name, Field: "source", Limit: "is empty: must be a file, - for standard input, the URL of a database, namespace:URL#NAME or layout:SPEC"}
	case strings.HasPrefix(part, NamespacePrefix):
		return s.addNamespace(strings.TrimPrefix(part, NamespacePrefix))
	case strings.HasPrefix(part, LayoutPrefix):
		return s.addLayout(strings.TrimPrefix(part, LayoutPrefix))
	default:
		return s.addData(part)
	}
}

// addNamespace reads URL#NAME. What stands behind the last # is the name.
func (s *Side) addNamespace(text string) error {
	n := Namespace{Store: text}
	if at := strings.LastIndexByte(text, '#'); at >= 0 {
		n = Namespace{text[:at], text[at+1:]}
		if n.Name == "" {
			return &SideError{Side: s.Name, Field: "namespace", Limit: "has no name behind the #: must be 1 to 64 of [a-z0-9._-]"}
		}
		// What stands there may be the end of a password, so it is not shown.
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

// addLayout reads SPEC#WORKERS/since=TIME/until=TIME.
func (s *Side) addLayout(text string) error {
	spec, rest, restricted := strings.Cut(text, "#")
	layout, err := snowfence.ParseLayout(spec)
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

func (s *Side) parseTime(field, text string) (time.Time, error) {
	for _, form := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(form, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, &SideError{Side: s.Name, Field: field, Value: text, Limit: "must be a date, or a time with its zone such as 2026-11-21T10:00:00Z"}
}

// parseWorkers reads worker numbers and ranges: 0-3,8.
func (s *Side) parseWorkers(l snowfence.Layout, text string) ([]overlap.Workers, error) {
	var workers []overlap.Workers
	most := l.Workers() - 1
	wrong := func(part, limit string) error {
		return &SideError{Side: s.Name, Field: "worker numbers", Value: part, Limit: limit}
	}
	for part := range strings.SplitSeq(text, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		first, err := strconv.ParseUint(low, 10, 63)
		last, lastErr := strconv.ParseUint(high, 10, 63)
		switch {
		case err != nil || lastErr != nil:
			return nil, wrong(part, "must be numbers and ranges such as 0-3,8")
		case last < first:
			return nil, wrong(part, "a range must not go down")
		case int64(last) > most:
			return nil, wrong(part, fmt.Sprintf("must be from 0 to %d in the layout %s", most, l))
		case len(workers) == maxRanges:
			return nil, wrong(part, fmt.Sprintf("is one more than %d ranges", maxRanges))
		}
		workers = append(workers, overlap.Workers{First: int64(first), Last: int64(last)})
	}
	slices.SortFunc(workers, func(a, b overlap.Workers) int { return cmp.Compare(a.First, b.First) })
	apart := workers[:1]
	for _, w := range workers[1:] {
		if last := &apart[len(apart)-1]; w.First <= last.Last+1 {
			last.Last = max(last.Last, w.Last)
		} else {
			apart = append(apart, w)
		}
	}
	return apart, nil
}

// addData takes a source of ids, unless it is a store.
func (s *Side) addData(text string) error {
	if engine.IsStore(text) {
		scheme, _, _ := strings.Cut(text, ":")
		return &SideError{Side: s.Name, Field: "source", Value: scheme + ":…", Limit: "is a store and no source of ids: write namespace:URL#NAME for a namespace in it"}
	}
	s.Data = append(s.Data, text)
	return nil
}
