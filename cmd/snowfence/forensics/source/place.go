package source

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"snowfence.example/snowfence/daemon/engine"
)

// Place is a source as a command line names it.
type Place struct {
	// Name is for [Open]. It may have a password.
	Name string
	// Of is the text behind the #: the column of a file, or the statement of a database. It may be empty.
	Of string
}

// statement is where the statement of a database begins: a word that a blank follows, as nothing in a URL does.
var statement = regexp.MustCompile(`#[A-Za-z]+\s`)

// ParsePlace reads a source as a command line names it:
//
//	players.csv#id                                 a column of CSV
//	postgres://user@host/db#select id from orders  a statement of a database
//	folder#1/ids.txt                               a file without a column
//	./ids#1#                                       the same
//
// The column of a path stands behind the last #, and has no / in it. A [UsageError] is returned for an
// empty place.
func ParsePlace(text string) (Place, error) {
	p := Place{Name: text}
	if begin := statement.FindStringIndex(text); engine.IsDatabase(text) {
		if begin != nil {
			p = Place{text[:begin[0]], text[begin[0]+1:]}
		}
	} else if at := strings.LastIndexByte(text, '#'); at >= 0 && !strings.Contains(text[at:], "/") {
		p = Place{text[:at], text[at+1:]}
	}
	if p.Name == "" {
		return p, UsageError("source: is empty: must be a file, - for standard input or the URL of a database")
	}
	return p, nil
}

// Options are the options of the place: the flags, as far as they are for such a source, and its own before them.
func (p Place) Options(flags Options) Options {
	if engine.IsDatabase(p.Name) {
		flags.Column, flags.Query = "", cmp.Or(p.Of, flags.Query)
	} else {
		flags.Column, flags.Query = cmp.Or(p.Of, flags.Column), ""
	}
	return flags
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
