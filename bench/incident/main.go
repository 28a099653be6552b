// Command incident re-enacts known incidents of id generators, with the
// ways in which worker ids are handed out there and with Snowfence's own, on the
// same plan. It is for the page docs/incidents.md, whose tables it makes.
//
//	GOWORK=off go run ./incident                               # prints them
//	GOWORK=off go run ./incident -page ../docs/incidents.md    # what `make incidents` does
//
// An [Incident] is a plan of package sim, written down as a scenario in testdata,
// and a [Fleet], which describes the machines: their addresses and process
// ids. An [Allocator] is a way to come by a worker id. Each incident runs
// with each allocator on the same seeds, and it counts the ids, and the repeated ids.
//
// # Why it is fair
//
// Only the allocation differs, and the clock with it: Leaf's manner has Leaf's policy,
// bwmarrin's its library's clock, and all others Twitter's policy, which refuses. All of them
// mint by the real [snowfence.Generator], so ids of one living process differ in each. They speak to
// the same store, whose clock is right, and which keeps acknowledged writes, unless their loss is the
// incident; that one is not run for allocators whose store is a quorum. A race that such a store rules out (two owners of one key) is ruled out for them too.
// Where the field knows a better and a worse form of a manner, the better one is here. Without faults each of them issues unique ids, and a test holds that.
//
// # Where to read
//
//	machine.go    what the machines are like
//	incident.go   the incidents, whose plans are in testdata, and the allocators
//	process.go    the common part of the naive ones
//	dialogue.go   and how they speak to the store
//	derived.go    worker ids from configuration, address, process id
//	slot.go       worker ids for a time: Redis keys with a TTL
//	counter.go    Leaf: a number for each address, the time uploaded every 3 s
//	compare.go    the runs, and the counts
//	main.go       the tables
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"snowfence.example/snowfence/bench/serving"
	"snowfence.example/snowfence/internal/text"
)

func main() {
	page := flag.String("page", "", "file to put the tables into; none means that they are printed")
	flag.Parse()
	serving.Exit("incident", tabulate(*page))
}

// tabulate runs every incident with every allocator, and prints the tables or puts them into the page.
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

// Tables returns the comparison as Markdown: two tables, of the ids that were issued before, and of all ids. A pair
// that was not run has a dash.
func (c Comparison) Tables() string {
	return c.table("Ids issued a second time", func(c Cell) string { return text.Grouped(c.Duplicates) }) +
		c.table("Ids issued", func(c Cell) string { return text.Grouped(c.IDs) })
}

// The tables of a page stand between these lines.
const (
	tablesBegin = "<!-- tables -->\n\n"
	tablesEnd   = "<!-- end of tables -->\n"
)

// Rewrite returns the page with the comparison's tables in place of its old ones. An error is returned
// when it does not mark where they stand.
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
	rows := [][]string{{"incident"}}
	for _, a := range c.Allocators {
		rows[0] = append(rows[0], a.emphasis(a.Name))
	}
	for i, incident := range c.Incidents {
		row := []string{fmt.Sprintf("[%s](#%[1]s)", incident.Name)}
		for a, allocator := range c.Allocators {
			text := "–"
			if !c.Cells[i][a].Spared {
				text = cell(c.Cells[i][a])
			}
			row = append(row, allocator.emphasis(text))
		}
		rows = append(rows, row)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", title)
	for i, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(&b, "|---|%s\n", strings.Repeat("--:|", len(row)-1))
		}
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
