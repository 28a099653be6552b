package idsource

import (
	"errors"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// refusals is what a source does about what is no id.
type refusals struct {
	skip    bool
	skipped atomic.Uint64
	first   atomic.Pointer[InvalidError]
}

// refuse returns the error, or counts it where that is wished. An error of
// options is never skipped.
func (r *refusals) refuse(err *InvalidError) error {
	var wrong *OptionError
	if errors.As(err.Reason, &wrong) {
		return wrong
	}
	if !r.skip {
		return err
	}
	r.skipped.Add(1)
	r.first.CompareAndSwap(nil, err)
	return nil
}

// Skipped implements Source.
func (r *refusals) Skipped() (n uint64, first error) {
	if e := r.first.Load(); e != nil {
		first = e
	}
	return r.skipped.Load(), first
}

// maxText is how much of a text an error carries, in bytes.
const maxText = 64

// clip cuts a text for an error.
func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	cut := maxText
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// hintOf guesses what a line is that is no id.
func hintOf(line string, at uint64) string {
	switch {
	case strings.HasPrefix(line, "\xff\xfe") || strings.HasPrefix(line, "\xfe\xff"):
		return "it looks like UTF-16: convert it to UTF-8 first"
	case strings.ContainsFunc(line, unprintable):
		return "it looks like no text: --format binary reads 8 bytes an id"
	case strings.ContainsAny(line, ",;\t|"):
		return "it looks like CSV: --column NAME or --column N reads a column of it, --separator CHAR where it is no comma"
	case at == 1 && strings.ContainsFunc(line, letter):
		return "if it is a header, --column NAME reads the column under it"
	}
	return ""
}

func unprintable(r rune) bool { return r < ' ' && r != '\t' || r == utf8.RuneError }

func letter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r > 0x7f }
