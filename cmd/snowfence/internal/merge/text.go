package merge

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"snowfence.example/snowfence/cmd/snowfence/internal/overlap"
)

// Sentences say what the forecast is, for people, the most important first.
func (f Forecast) Sentences() []string {
	var all []string
	for _, why := range f.Why {
		all = append(all, fmt.Sprintf("%s and %s can never issue the same id: %s", f.NameA, f.NameB, why))
	}
	if len(f.Chances) == 0 {
		return all
	}
	now := later(f.A.Now, f.B.Now)
	switch {
	case !f.Possible():
		all = append(all, fmt.Sprintf("no id that %s or %s issues from now on can equal one of the other, past or future", f.NameA, f.NameB))
	case f.FromNow.After(now):
		all = append(all, fmt.Sprintf("until %s no id that %s or %s issues from now on can equal one of the other, past or future; from then on it can", instantText(f.FromNow), f.NameA, f.NameB))
	case len(f.Shared) > 0:
		all = append(all, fmt.Sprintf("%s and %s can issue the same id from now on: they have one layout and epoch, and both may use worker id %s; whenever both do at the same time, ids can be equal", f.NameA, f.NameB, WorkersText(f.Shared)))
	default:
		all = append(all, fmt.Sprintf("%s and %s can issue the same id from now on", f.NameA, f.NameB))
	}
	if above := f.aboveText(now); above != "" {
		all = append(all, above)
	}
	for _, c := range f.Chances {
		all = append(all, f.chanceText(c, now))
	}
	return all
}

// aboveText is worth a sentence only while it holds.
func (f Forecast) aboveText(now time.Time) string {
	if f.Above == 0 || f.Possible() && !f.FromNow.After(now) {
		return ""
	}
	one, other := f.NameA, f.NameB
	if f.Above < 0 {
		one, other = other, one
	}
	text := fmt.Sprintf("every id of %s from now on is above every id of %s", one, other)
	if f.Possible() {
		text += " until " + instantText(f.FromNow)
	}
	return text
}

// chanceText says when and where, by the example of its first id.
func (f Forecast) chanceText(c Chance, now time.Time) string {
	a, b, m := f.NameA, f.NameB, c.First
	since := "from now on"
	if m.At.After(now) {
		since = "from " + instantText(m.At) + " on"
	}
	var what string
	switch {
	case c.A == Past && c.B == Past && c.Recorded && f.A.Managed() && f.B.Managed():
		what = "both may have issued the same id already, in their present terms"
	case c.A == Past && c.B == Past && (f.A.Managed() || f.B.Managed()):
		// An example would be of any time at all.
		return "both may have issued the same id already: of terms before the present ones nothing is kept, so only their ids tell"
	case c.A == Past && c.B == Past:
		what = "both may have issued the same id already"
	case c.A == Past:
		what = fmt.Sprintf("%s %s can issue what %s may have issued before", since, b, a)
	case c.B == Past:
		what = fmt.Sprintf("%s %s can issue what %s may have issued before", since, a, b)
	default:
		what = since + " both can issue an id that is new to both"
	}
	return fmt.Sprintf("%s; the first is %s: %s in %s, %s in %s", what, m.ID, stampText(m.A), a, stampText(m.B), b)
}

func stampText(s overlap.Stamp) string {
	return fmt.Sprintf("worker %d at %s", s.Worker, instantText(s.Time))
}

// instantText writes a time in UTC, with as much of the second as there is.
func instantText(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999999Z") }

// quote writes a word for a shell, quoted where that is needed.
func quote(word string) string {
	plain := func(r rune) bool {
		return 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:@,=+%", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	if strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		// As it stands, a terminal would obey it.
		inner := strconv.Quote(word)
		return "$'" + strings.ReplaceAll(inner[1:len(inner)-1], "'", `\'`) + "'"
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
