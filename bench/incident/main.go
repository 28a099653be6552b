package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	page := flag.String("page", "", "file to put the tables into; none means that they are printed")
	flag.Parse()
	if err := tabulate(*page); err != nil {
		fmt.Fprintln(os.Stderr, "incident:", err)
		os.Exit(1)
	}
}

// tabulate runs every incident with every allocator, and puts the tables into the page
// or prints them.
func tabulate(page string) error {
	comparison, err := Compare(Incidents(), Allocators(), Seeds)
	if err != nil {
		return err
	}
	if page == "" {
		fmt.Print(comparison.Tables())
		return nil
	}
	before, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	after, err := Rewrite(string(before), comparison)
	if err != nil {
		return err
	}
	return os.WriteFile(page, []byte(after), 0o644) //nolint:gosec // a page is for everybody to read
}

// Tables returns the comparison as Markdown: three tables of one shape, of the ids
// that were issued before, of all ids, and of refusals. A cell of a pair that was
// not run has a dash.
func (c Comparison) Tables() string {
	return c.table("Ids issued a second time", func(c Cell) string { return digits(c.Duplicates) }) +
		c.table("Ids issued", func(c Cell) string { return digits(c.IDs) }) +
		c.table("Longest refusal of a machine, in seconds", func(c Cell) string { return seconds(c.Refused) })
}

// The tables of a page stand between these lines.
const (
	tablesBegin = "<!-- tables -->\n\n"
	tablesEnd   = "<!-- end of tables -->\n"
)

// Rewrite returns the page with the comparison's tables in place of those that it
// has. An error is returned when it does not say where they stand.
func Rewrite(page string, c Comparison) (string, error) {
	before, rest, begins := strings.Cut(page, tablesBegin)
	_, after, ends := strings.Cut(rest, tablesEnd)
	if !begins || !ends {
		return "", errors.New("the page has no lines <!-- tables --> and <!-- end of tables -->, the first with an empty line after it")
	}
	return before + tablesBegin + c.Tables() + tablesEnd + after, nil
}

// table writes one of the tables.
func (c Comparison) table(title string, cell func(Cell) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n| incident |", title)
	for _, a := range c.Allocators {
		fmt.Fprintf(&b, " %s |", a.emphasis(a.Name))
	}
	fmt.Fprintf(&b, "\n|---|%s\n", strings.Repeat("--:|", len(c.Allocators)))
	for i, incident := range c.Incidents {
		fmt.Fprintf(&b, "| [%s](#%[1]s) |", incident.Name)
		for a, allocator := range c.Allocators {
			text := "–"
			if !c.Cells[i][a].Spared {
				text = cell(c.Cells[i][a])
			}
			fmt.Fprintf(&b, " %s |", allocator.emphasis(text))
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return b.String()
}

// emphasis makes the text bold if the allocator is ours.
func (a Allocator) emphasis(text string) string {
	if a.Ours {
		return "**" + text + "**"
	}
	return text
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
