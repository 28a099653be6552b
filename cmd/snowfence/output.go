package main

// This file is how the program talks. The rules are:
//
//   - What was asked for is data and goes to standard output, in the form that
//     -o names: text for people, json for programs.
//   - Everything else goes to standard error, with "snowfence: " in front, no
//     capital at its start and no full stop at its end. A hint follows on a
//     line of its own.
//   - A verb that fails prints no data, except that decode prints the ids that
//     it could decode, plan its answer when the answer is no, and namespace
//     verify what it found; and that what is streamed may break off.
//   - JSON is one value a line. Ids in it are strings. Its keys are stable.
//   - Text fits 80 columns and may change; it has colour only on a terminal
//     without NO_COLOR.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/daemon"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/text"
)

// form is how data is printed.
type form string

const (
	textForm form = "text"
	jsonForm form = "json"
)

// outputFlag adds -o to a verb.
func outputFlag(cmd *cobra.Command) *form {
	f := textForm
	choiceFlag(cmd, &f, "output", "o", "form of the output: %s", textForm, jsonForm)
	return &f
}

// report is the answer of a verb. Its objects are for programs, and each is printed at once, on a line of its
// own. Its page and its rows are for people, and are printed at the end.
type report struct {
	program
	form form
	page.Page
	rows [][]string
}

// object prints a value for programs.
func (r *report) object(v any) error {
	if r.form != jsonForm {
		return nil
	}
	encoder := json.NewEncoder(page.JSONWriter{Writer: r.stdout})
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// row adds a row of the table that [report.end] prints.
func (r *report) row(cells ...string) { r.rows = append(r.rows, cells) }

// end prints the page, and a table of the rows under it, and empties both.
func (r *report) end(columns string) error {
	r.Table("", columns, r.rows)
	said := r.String()
	r.Reset()
	r.rows = nil
	if r.form == jsonForm {
		return nil
	}
	return r.print(said)
}

// answer prints a whole answer.
func (r *report) answer(document any, text string) error {
	r.WriteString(text)
	if err := r.object(document); err != nil {
		return err
	}
	return r.end("")
}

// answer prints a whole answer in a form.
func (p program) answer(f form, document any, text string) error {
	return (&report{program: p, form: f}).answer(document, text)
}

// print writes text.
func (p program) print(text string) error {
	_, err := io.WriteString(p.stdout, page.VisibleLines(text, p.colour))
	return err
}

// needsOutput returns an error for a verb whose data is nowhere else, when it has no place to go.
func (p program) needsOutput(what string) error {
	if p.closed {
		return errors.New("standard output is closed, so " + what + " would be lost: open it, or write > /dev/null to throw them away")
	}
	return nil
}

// note tells people something that is not data.
func (p program) note(format string, args ...any) {
	p.say(fmt.Sprintf(format, args...))
}

// say writes lines to standard error. It can't report that writing fails.
func (p program) say(text string) {
	for line := range strings.Lines(text) {
		_, _ = fmt.Fprintf(p.stderr, "snowfence: %s\n", page.Visible(strings.TrimSuffix(line, "\n"), "\t"))
	}
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

// audit writes a line about what an operator did to a store: who, what, and to what. It goes where
// the logs go, and has their form.
func (p program) audit(act string, attributes ...any) {
	by := []any{"user", p.user(), "host", p.process().Host}
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

// process is how registers name this process.
func (p program) process() fence.Process { return daemon.Process(thisBuild().Version, p.clock.Wall()) }
