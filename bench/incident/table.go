package incident

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Write writes the comparison as Markdown: three tables of one shape, of the ids
// that were issued before, of all ids, and of refusals. A cell of a pair that was
// not run has a dash. An error is returned when w returns one.
func Write(w io.Writer, c Comparison) error {
	for _, t := range []struct {
		title string
		cell  func(Cell) string
	}{
		{"Ids issued a second time", func(c Cell) string { return digits(c.Duplicates) }},
		{"Ids issued", func(c Cell) string { return digits(c.IDs) }},
		{"Longest refusal of a machine, in seconds", func(c Cell) string { return seconds(c.Refused) }},
	} {
		if _, err := io.WriteString(w, c.table(t.title, t.cell)); err != nil {
			return err
		}
	}
	return nil
}

// The tables of a page stand between these lines.
const (
	tablesBegin = "<!-- tables -->\n\n"
	tablesEnd   = "<!-- end of tables -->\n"
)

// errNoMarks is returned for a page without a place for the tables.
var errNoMarks = errors.New("incident: the page has no lines <!-- tables --> and <!-- end of tables -->, the first with an empty line after it")

// Rewrite returns the page with the comparison's tables in place of those that it
// has. An error is returned when it does not say where they stand.
func Rewrite(page string, c Comparison) (string, error) {
	before, rest, begins := strings.Cut(page, tablesBegin)
	_, after, ends := strings.Cut(rest, tablesEnd)
	if !begins || !ends {
		return "", errNoMarks
	}
	var tables strings.Builder
	if err := Write(&tables, c); err != nil {
		return "", err
	}
	return before + tablesBegin + tables.String() + tablesEnd + after, nil
}

// table writes one of the tables.
func (c Comparison) table(title string, cell func(Cell) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n| incident |", title)
	for _, a := range c.Allocators {
		if a.Ours {
			fmt.Fprintf(&b, " **%s** |", a.Name)
		} else {
			fmt.Fprintf(&b, " %s |", a.Name)
		}
	}
	fmt.Fprintf(&b, "\n|---|%s\n", strings.Repeat("--:|", len(c.Allocators)))
	for i, incident := range c.Incidents {
		fmt.Fprintf(&b, "| [%s](#%[1]s) |", incident.Name)
		for a, allocator := range c.Allocators {
			text := "–"
			if !c.Cells[i][a].Spared {
				text = cell(c.Cells[i][a])
			}
			if allocator.Ours {
				fmt.Fprintf(&b, " **%s** |", text)
			} else {
				fmt.Fprintf(&b, " %s |", text)
			}
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return b.String()
}

// digits writes a number in groups of three.
func digits(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// seconds writes a duration in seconds, to a tenth.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Round(100*time.Millisecond).Seconds(), 'f', 1, 64)
}
