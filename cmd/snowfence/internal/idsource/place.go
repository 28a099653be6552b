package idsource

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/engine"
)

// Place is a source as a command line names it, with what is said of it alone.
type Place struct {
	// Name is what [Open] takes. It may have a password.
	Name string
	// Given is what stands behind its #, by [PlaceKeys]; nil if there is nothing.
	Given map[string]string
}

// PlaceError is returned for a place that can't be read. It has no password.
type PlaceError struct {
	// Place is the place as it may be shown, or empty.
	Place string
	// Field is at fault, Value is what it is, or empty, and Limit what it must be.
	Field, Value, Limit string
}

// Error names the place, the field, the value and the limit.
func (e *PlaceError) Error() string {
	text := e.Field
	if e.Place != "" {
		text = e.Place + ": " + text
	}
	if e.Value != "" {
		text += " " + strconv.Quote(e.Value)
	}
	return text + ": " + e.Limit
}

// Class is [snowfence.ClassUsage].
func (*PlaceError) Class() snowfence.Class { return snowfence.ClassUsage }

// PlaceKeys are the keys behind the # of a place, named as the flags are.
func PlaceKeys() []string {
	return []string{"column", "encoding", "format", "gzip", "query", "separator", "table"}
}

// ParsePlace reads a source as a command line names it:
//
//	players.csv#column=id,separator=;           a file with options of its own
//	-#encoding=hex                              standard input with some
//	postgres://user@host/db#table=t,column=id   a column of a database
//	folder#1/ids.txt                            a file without any
//
// The options are key=value with commas between; query comes last and reaches to
// the end. They begin at a # that a key and an = follow: in a URL at the first, since
// a statement may have others, and in a path at the last. So each path can be
// given: what would be taken for options is part of the path when options follow.
//
// A *[PlaceError] is returned for what is empty, and for options that there are not,
// are empty or are given twice.
func ParsePlace(text string) (Place, error) {
	if text == "" {
		return Place{}, &PlaceError{Field: "source", Limit: "is empty: must be a file, - for standard input or the URL of a database"}
	}
	at := optionsAt(text)
	if at < 0 {
		return Place{Name: text}, nil
	}
	if at == 0 {
		return Place{}, &PlaceError{Field: "source", Limit: "has no place before the #: must be a file, - for standard input or the URL of a database"}
	}
	given, err := parseGiven(Shown(text[:at]), text[at+1:])
	if err != nil {
		return Place{}, err
	}
	return Place{text[:at], given}, nil
}

// optionsAt is where the # of the options stands. Minus 1 stands for none.
func optionsAt(text string) int {
	found := -1
	for at := range len(text) {
		if text[at] != '#' {
			continue
		}
		key, _, ok := strings.Cut(text[at+1:], "=")
		if !ok || !slices.Contains(PlaceKeys(), key) {
			continue
		}
		if found = at; engine.IsDatabase(text) {
			break
		}
	}
	return found
}

// parseGiven reads key=value,…
func parseGiven(place, text string) (map[string]string, error) {
	given := map[string]string{}
	for text != "" {
		key, rest, ok := strings.Cut(text, "=")
		if !ok || !slices.Contains(PlaceKeys(), key) {
			return nil, &PlaceError{place, "option", key, "must be KEY=VALUE, with a key of " + strings.Join(PlaceKeys(), ", ")}
		}
		value := rest
		text = ""
		if key != "query" {
			value, text, _ = strings.Cut(rest, ",")
		}
		if _, twice := given[key]; twice || value == "" {
			return nil, &PlaceError{place, "option " + key, value, "must be given once and not be empty"}
		}
		given[key] = value
	}
	return given, nil
}

// Options are the options of the place: the flags, as far as they are for such a
// source, and over them what is given. A *[PlaceError] is returned for an option that
// can't be read or is for another kind of source.
func (p Place) Options(flags Options) (Options, error) {
	o, database := flags, engine.IsDatabase(p.Name)
	has := func(key string) bool { return p.Given[key] != "" }
	format := flags.Format
	if has("format") {
		format = Format(p.Given["format"])
	}
	switch {
	case database:
		o.Separator, o.Gzip = 0, ""
		if has("table") || has("query") {
			o.Format = "" // it is that of others
		}
	case !has("column") && format != "" && format != CSV && (has("format") || o.Table != ""):
		o.Table, o.Query, o.Column = "", "", "" // the column is that of others
	default:
		o.Table, o.Query = "", ""
	}
	if has("column") || has("table") {
		o.Query = ""
	}
	if has("query") {
		o.Table, o.Column = "", ""
	}
	for _, key := range PlaceKeys() {
		value, given := p.Given[key]
		if !given {
			continue
		}
		err := o.Set(key, value)
		switch {
		case err != nil:
		case database && (key == "gzip" || key == "separator"):
			err = errors.New("is for files and streams, and this is a database")
		case !database && (key == "query" || key == "table"):
			err = errors.New("is for databases, and this is none")
		}
		if err != nil {
			return o, &PlaceError{Place: Shown(p.Name), Field: "option " + key, Value: value, Limit: err.Error()}
		}
	}
	return o, nil
}

// unknownOption is for a name that leads nowhere: the error if what stands behind
// its last # looks like an option, or nil. Behind that of a URL may stand the end of
// a password, which has an @ behind it and is not shown.
func unknownOption(name, why string) error {
	at := strings.LastIndexByte(name, '#')
	if at < 0 {
		return nil
	}
	key, value, ok := strings.Cut(name[at+1:], "=")
	strange := func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_' }
	if !ok || key == "" || len(key) > maxKey || strings.ContainsFunc(key, strange) || strings.Contains(value, "@") {
		return nil
	}
	return &PlaceError{Shown(name), "option", key, why + ": must be one of " + strings.Join(PlaceKeys(), ", ")}
}

// maxKey is the longest word that is taken for a key.
const maxKey = 32

// Shown is a name without a URL's password, and quoted if it has what a terminal would obey.
func Shown(name string) string {
	if engine.IsDatabase(name) || strings.Contains(name, "://") {
		name = engine.Redact(name)
	}
	return printable(name)
}

// printable quotes a text that has more in it than signs and spaces.
func printable(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		return text
	}
	return strconv.Quote(text)
}
