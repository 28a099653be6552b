package page

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Visible writes out the characters that a terminal would obey or hide, but for the kept ones: errors, tables and pages carry
// the names, reasons and answers of others. Some of the characters turn the direction of writing.
func Visible(text, kept string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch quoted := strconv.QuoteRune(r); {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(r)): // no UTF-8
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case hidden(r) && !strings.ContainsRune(kept, r):
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool { return !unicode.IsGraphic(r) }

// JSONWriter writes JSON, and escapes the characters that [Visible] writes out. A write has whole characters.
type JSONWriter struct{ io.Writer }

// Write implements [io.Writer].
func (w JSONWriter) Write(json []byte) (int, error) {
	text := string(json)
	if !strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && hidden(r) }) {
		return w.Writer.Write(json)
	}
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || !hidden(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	if _, err := io.WriteString(w.Writer, b.String()); err != nil {
		return 0, err
	}
	return len(json), nil
}
