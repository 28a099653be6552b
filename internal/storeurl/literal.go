package storeurl

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// reference is the beginning of a shell's variable or command substitution.
var reference = regexp.MustCompile(`\$[A-Za-z_{(]`)

// CheckReferences returns an error for a text with $NAME, ${NAME} or $(COMMAND) in it. Taken as they are, they
// name another store than the one that was meant, and the ids of two stores can be equal. The error does not
// show the text, which may have a password.
func CheckReferences(text string) error {
	if at := reference.FindStringIndex(text); at != nil {
		return fmt.Errorf("has %s…, which nothing was put in place of: write the value itself, or in a configuration ${NAME} for a variable",
			text[at[0]:at[1]-1]+nameOf(text[at[1]-1:]))
	}
	return nil
}

// nameOf shows the beginning of a reference, without its name: a password may have a $ by chance.
func nameOf(rest string) string {
	if rest[0] == '{' || rest[0] == '(' {
		return rest[:1]
	}
	return "NAME"
}

// CheckPath returns an error for a path that was hardly meant as it is written, since each such path is a space
// of ids of its own: one with a ~ in front, a reference to a variable, or characters that nobody sees.
func CheckPath(path string) error {
	return cmp.Or(checkHome(path), CheckReferences(path), checkBlanks(path))
}

// template is a part of a folder's path that a template or another shell would put a value in place of, or a quote
// around a name, which a file of variables keeps. A quote within a name is a part of it.
var template = regexp.MustCompile(`(?:^|/)["']|["'](?:/|$)|\{\{|%[A-Za-z_]\w*%|<[^/<>]*>`)

// CheckFolder is [CheckPath] for the path of a folder on this host, which is no part of a URL and has no escapes.
func CheckFolder(path string) error {
	if part := template.FindString(path); part != "" {
		return fmt.Errorf("has %s, which is hardly meant as it is written: write the path itself, without quotes and placeholders", part)
	}
	return CheckPath(path)
}

// checkHome returns an error for a path with a ~ in front.
func checkHome(path string) error {
	if strings.HasPrefix(strings.TrimLeft(path, "/"), "~") {
		return errors.New("begins with ~, which only a configuration puts a folder in place of, and only as ~/: write the whole path")
	}
	return nil
}

// checkBlanks returns an error for blanks at the ends of a text, and for a control character anywhere.
func checkBlanks(text string) error {
	unseen := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) }
	if strings.TrimFunc(text, unseen) != text || strings.ContainsFunc(text, unicode.IsControl) {
		return fmt.Errorf("%q: must have no blank at its ends, and no control character", text)
	}
	return nil
}
