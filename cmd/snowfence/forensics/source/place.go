package source

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"snowfence.example/snowfence/daemon/engine"
)

// Place is a source as a command line names it, with the options that are for it alone.
type Place struct {
	// Name is for [Open]. It may have a password.
	Name string
	// Given is the text behind its #, by [PlaceKeys]; it may be nil.
	Given map[string]string
}

// PlaceKeys are the keys behind the # of a place, named as the flags are.
func PlaceKeys() []string {
	return []string{"column", "encoding", "query", "separator", "table"}
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
// given: an end that looks like options is part of the path when options follow.
//
// A [UsageError] is returned for an empty place, and for options that are unknown,
// empty or given twice.
func ParsePlace(text string) (Place, error) {
	at := -1
	for i := range len(text) {
		key, _, ok := strings.Cut(text[i+1:], "=")
		if text[i] == '#' && ok && slices.Contains(PlaceKeys(), key) && (at < 0 || !engine.IsDatabase(text)) {
			at = i
		}
	}
	switch {
	case text == "":
		return Place{}, UsageError("source: is empty: must be a file, - for standard input or the URL of a database")
	case at < 0:
		return Place{Name: text}, nil
	case at == 0:
		return Place{}, UsageError("source: has no place before the #: must be a file, - for standard input or the URL of a database")
	}
	p := Place{text[:at], map[string]string{}}
	for rest := text[at+1:]; rest != ""; {
		key, value, ok := strings.Cut(rest, "=")
		if !ok || !slices.Contains(PlaceKeys(), key) {
			return Place{}, p.wrong(strconv.Quote(key), "must be KEY=VALUE, with a key of "+strings.Join(PlaceKeys(), ", "))
		}
		rest = ""
		if key != "query" {
			value, rest, _ = strings.Cut(value, ",")
		}
		if _, twice := p.Given[key]; twice || value == "" {
			return Place{}, p.wrong(strings.TrimSuffix(key+" "+strconv.Quote(value), ` ""`), "must be given once and not be empty")
		}
		p.Given[key] = value
	}
	return p, nil
}

// wrong is an error about an option of the place.
func (p Place) wrong(option, limit string) error {
	return UsageError(Shown(p.Name) + ": option " + option + ": " + limit)
}

// Options are the options of the place: the flags, as far as they are for such a
// source, and over them the options of its own. A [UsageError] is returned for an option that
// can't be read or is for another kind of source.
func (p Place) Options(flags Options) (Options, error) {
	o, database := flags, engine.IsDatabase(p.Name)
	if database {
		o.Separator = 0
	} else {
		o.Table, o.Query = "", ""
	}
	if p.Given["column"] != "" || p.Given["table"] != "" {
		o.Query = ""
	}
	if p.Given["query"] != "" {
		o.Table, o.Column = "", ""
	}
	for _, key := range slices.Sorted(maps.Keys(p.Given)) {
		err := o.Set(key, p.Given[key])
		switch {
		case err != nil:
		case database && key == "separator":
			err = errors.New("is for files and streams, and this is a database")
		case !database && (key == "query" || key == "table"):
			err = errors.New("is for databases, and this is none")
		}
		if err != nil {
			return o, p.wrong(key+" "+strconv.Quote(p.Given[key]), err.Error())
		}
	}
	return o, nil
}

// unknownOption is for a name that leads nowhere: the error if the text behind its last #
// looks like an option, or nil. In a URL the end of a password may stand there. It has an @
// behind it and is not shown.
func unknownOption(name, why string) error {
	at := strings.LastIndexByte(name, '#')
	key, value, ok := strings.Cut(name[at+1:], "=")
	strange := func(r rune) bool { return (r|0x20 < 'a' || r|0x20 > 'z') && r != '-' && r != '_' }
	if at < 0 || !ok || key == "" || len(key) > 32 || strings.ContainsFunc(key, strange) || strings.Contains(value, "@") {
		return nil
	}
	return Place{Name: name}.wrong(strconv.Quote(key), why+": must be one of "+strings.Join(PlaceKeys(), ", "))
}

// Shown is a name without a URL's password, and quoted if it has signs that a terminal would obey.
func Shown(name string) string {
	if engine.IsDatabase(name) || strings.Contains(name, "://") {
		name = engine.Redact(name)
	}
	return printable(name)
}

// shownFile is the name of a file or stream in messages.
func shownFile(name string) string {
	if name == "-" {
		return "standard input"
	}
	return Shown(name)
}

// printable quotes a text that has more in it than signs and spaces.
func printable(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		return text
	}
	return strconv.Quote(text)
}
