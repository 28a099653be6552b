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
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/daemon"
	"snowfence.example/snowfence/internal/text"
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
	choiceFlag(cmd, &f, "output", "o", "form of the output: %s", textForm, jsonForm, tableForm)
	return &f
}

// print writes data.
func (p program) print(text string) error {
	_, err := io.WriteString(p.stdout, visibleLines(text, p.colour))
	return err
}

// needsOutput returns an error for a verb whose data is nowhere else, when it has no place to go.
func (p program) needsOutput(what string) error {
	if p.closed {
		return errors.New("standard output is closed, so " + what + " would be lost: open it, or write > /dev/null to throw them away")
	}
	return nil
}

// printJSON writes one value on one line.
func (p program) printJSON(v any) error {
	encoder := json.NewEncoder(jsonWriter{p.stdout})
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

// audit writes a line about what an operator did to a store: who, what, and to what. It goes where
// the logs go, and has their form.
func (p program) audit(act string, attributes ...any) {
	by := []any{"user", p.user(), "host", daemon.Process(thisBuild().Version, p.clock.Wall()).Host}
	p.logger("", slog.LevelInfo).Info("audit: "+act, append(by, attributes...)...)
}

// user is who runs the program: as the environment says, or else the operating system.
func (p program) user() string {
	for _, name := range []string{"SUDO_USER=", "USER=", "LOGNAME="} {
		for _, pair := range p.environ {
			if user, ok := strings.CutPrefix(pair, name); ok && user != "" {
				return user
			}
		}
	}
	if current, err := user.Current(); err == nil {
		return current.Username
	}
	return "uid " + strconv.Itoa(os.Getuid())
}

// warn tells people what is odd, but keeps nothing from working.
func (p program) warn(warnings ...string) {
	for _, w := range warnings {
		p.note("warning: %s", w)
	}
}

// closing closes something whose work is done, and only warns where that fails.
func (p program) closing(what string, end func() error) {
	if err := end(); err != nil {
		p.warn(what + text.Message(err))
	}
}

// say writes lines to standard error. It can't report that writing fails.
func (p program) say(text string) {
	for line := range strings.Lines(text) {
		_, _ = fmt.Fprintf(p.stderr, "snowfence: %s\n", visible(strings.TrimSuffix(line, "\n"), "\t"))
	}
}

// table lays out rows under a header: the names of the columns, with commas between
// them, and > before one that is aligned at its right. No rows make no table.
func table(columns string, rows [][]string) string {
	if len(rows) == 0 {
		return ""
	}
	header := strings.Split(strings.ToUpper(columns), ",")
	right, widths := make([]bool, len(header)), make([]int, len(header))
	for i, name := range header {
		header[i], right[i] = strings.CutPrefix(strings.TrimSpace(name), ">")
	}
	shown := make([][]string, 0, len(rows)+1)
	for _, row := range append([][]string{header}, rows...) {
		row = slices.Clone(row)
		for i, cell := range row {
			row[i] = visible(cell, "")
		}
		shown = append(shown, row)
	}
	for _, row := range shown {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range shown {
		var line strings.Builder
		for i, cell := range row {
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if right[i] {
				cell, padding = padding, cell
			}
			line.WriteString(cell + padding + "  ")
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// page is a text for people, which grows by lines. The zero value is empty.
type page struct{ strings.Builder }

// textWidth is what text is wrapped to.
const textWidth = 80

// line adds a line. The texts in it are made visible, so no text begins another line.
func (p *page) line(format string, args ...any) {
	args = slices.Clone(args)
	for i, arg := range args {
		switch text := arg.(type) {
		case string:
			args[i] = visible(text, "")
		case error:
			args[i] = visible(text.Error(), "")
		}
	}
	fmt.Fprintf(&p.Builder, format+"\n", args...)
}

// table adds a table that is set in.
func (p *page) table(indent, columns string, rows [][]string) {
	for line := range strings.Lines(table(columns, rows)) {
		p.WriteString(indent + line)
	}
}

// wrapped adds a text that is broken between words. The lines after the first are set
// in as far as the first one's beginning is long.
func (p *page) wrapped(beginning, text string) {
	line, blank := beginning, ""
	for word := range strings.FieldsSeq(text) {
		if len(line)+len(blank)+len(word) > textWidth && blank != "" {
			p.line("%s", line)
			line, blank = strings.Repeat(" ", len(beginning)), ""
		}
		line, blank = line+blank+word, " "
	}
	p.line("%s", line)
}

// paint colours a text as the kind of field of an id that it belongs to.
func (p program) paint(kind, text string) string {
	code := map[string]string{
		"unused":     "90", // bright black
		"time":       "36", // cyan
		"datacenter": "33", // yellow
		"worker":     "35", // magenta
		"sequence":   "32", // green
	}[kind]
	if !p.colour || code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
