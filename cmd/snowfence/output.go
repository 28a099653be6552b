package main

// This file is how the program talks. The rules are:
//
//   - What was asked for is data and goes to standard output, in the form that
//     -o names: text for people, json for programs, table for both.
//   - Everything else goes to standard error, with "snowfence: " in front, no
//     capital at its start and no full stop at its end. A hint follows on a
//     line of its own.
//   - A verb that fails prints no data, except that decode prints the ids that
//     it could decode, plan its answer when the answer is no, and namespace
//     verify what it found; and that what is streamed may break off.
//   - JSON is one value a line. Ids in it are strings. Its keys are stable.
//   - Text and tables fit 80 columns and may change; only text has colour, and
//     only on a terminal without NO_COLOR.

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// form is how data is printed.
type form string

const (
	textForm  form = "text"
	jsonForm  form = "json"
	tableForm form = "table"
)

// outputFlag adds -o to a verb.
func outputFlag(cmd *cobra.Command) *form {
	f := textForm
	cmd.Flags().VarP(choiceOf(&f, textForm, jsonForm, tableForm), "output", "o", "form of the output: text, json or table")
	completeFlag(cmd, "output", string(textForm), string(jsonForm), string(tableForm))
	return &f
}

// print writes data.
func (p program) print(text string) error {
	_, err := io.WriteString(p.stdout, text)
	return err
}

// printJSON writes one value on one line.
func (p program) printJSON(v any) error {
	encoder := json.NewEncoder(p.stdout)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// answer writes an answer in the form that was asked for.
func (p program) answer(f form, document any, table, text string) error {
	switch f {
	case jsonForm:
		return p.printJSON(document)
	case tableForm:
		return p.print(table)
	default:
		return p.print(text)
	}
}

// note tells people something that is not data.
func (p program) note(format string, args ...any) {
	p.say(fmt.Sprintf(format, args...))
}

// warn tells people what is odd, but keeps nothing from working.
func (p program) warn(warnings ...string) {
	for _, w := range warnings {
		p.note("warning: %s", w)
	}
}

// say writes lines to standard error. It can't report that writing fails.
func (p program) say(text string) {
	for line := range strings.Lines(text) {
		_, _ = fmt.Fprintf(p.stderr, "snowfence: %s\n", visible(strings.TrimSuffix(line, "\n")))
	}
}

// visible writes out what a terminal would obey: errors carry names of files and
// what servers answer.
func visible(line string) string {
	if !strings.ContainsFunc(line, unicode.IsControl) {
		return line
	}
	var b strings.Builder
	for _, r := range line {
		if unicode.IsControl(r) && r != '\t' {
			fmt.Fprintf(&b, `\x%02x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// column is a column of a table.
type column struct {
	name   string
	number bool // aligned at its right
}

// table lays out rows under a header.
func table(columns []column, rows [][]string) string {
	header := make([]string, len(columns))
	widths := make([]int, len(columns))
	for i, c := range columns {
		header[i] = strings.ToUpper(c.name)
	}
	rows = slices.Insert(slices.Clone(rows), 0, header)
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if columns[i].number {
				line.WriteString(padding + cell + "  ")
			} else {
				line.WriteString(cell + padding + "  ")
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// indent sets every line of a text in from the left, but for empty ones.
func indent(text, by string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line != "\n" {
			line = by + line
		}
		b.WriteString(line)
	}
	return b.String()
}

// paint colours a text as the kind of field of an id that it belongs to.
func (p program) paint(kind, text string) string {
	code := ""
	switch kind {
	case "unused":
		code = "90" // bright black
	case "time":
		code = "36" // cyan
	case "datacenter":
		code = "33" // yellow
	case "worker":
		code = "35" // magenta
	case "sequence":
		code = "32" // green
	}
	if !p.colour || code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
