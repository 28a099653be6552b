package main

// This file has the output of all verbs. The rules are:
//
//   - Data goes to standard output, in the form that -o names: text for people,
//     json for programs.
//   - Everything else goes to standard error, with "snowfence: " in front, no
//     capital at its start and no full stop at its end. A hint follows on a
//     line of its own.
//   - A verb that fails prints no data, with these exceptions: decode prints the
//     ids that it could decode, plan a negative answer, and namespace verify its
//     findings. A stream may break off.
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
func (out *report) object(v any) error {
	if out.form != jsonForm {
		return nil
	}
	encoder := json.NewEncoder(page.JSONWriter{Writer: out.stdout})
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// row adds a row of the table that [report.end] prints.
func (out *report) row(cells ...string) { out.rows = append(out.rows, cells) }

// end prints the page, and a table of the rows under it, and empties both.
func (out *report) end(columns string) error {
	out.Table("", columns, out.rows)
	said := out.String()
	out.Reset()
	out.rows = nil
	if out.form == jsonForm {
		return nil
	}
	return out.print(said)
}

// answer prints a whole answer.
func (out *report) answer(document any, text string) error {
	out.WriteString(text)
	if err := out.object(document); err != nil {
		return err
	}
	return out.end("")
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

// needsOutput returns an error if standard output is closed, for a verb whose data would be lost.
func (p program) needsOutput(what string) error {
	if p.closed {
		return errors.New("standard output is closed, so " + what + " would be lost: open it, or write > /dev/null to throw them away")
	}
	return nil
}

// note writes a message for people, which is no data, to standard error.
func (p program) note(format string, args ...any) {
	p.say(fmt.Sprintf(format, args...))
}

// say writes lines to standard error. It can't report that writing fails.
func (p program) say(text string) {
	for line := range strings.Lines(text) {
		_, _ = fmt.Fprintf(p.stderr, "snowfence: %s\n", page.Visible(strings.TrimSuffix(line, "\n"), "\t"))
	}
}

// warn writes warnings to standard error.
func (p program) warn(warnings ...string) {
	for _, w := range warnings {
		p.note("warning: %s", w)
	}
}

// closing ends something that is no longer needed, and warns if that fails.
func (p program) closing(what string, end func() error) {
	if err := end(); err != nil {
		p.warn(what + text.Message(err))
	}
}

// audit writes a log line about an operator's change of a store: the user, the change and its object.
func (p program) audit(act string, attributes ...any) {
	by := []any{"user", p.user(), "host", p.process().Host}
	p.logger("", slog.LevelInfo).Info("audit: "+act, append(by, attributes...)...)
}

// user is the name of the program's user by the environment, or else by the operating system.
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
