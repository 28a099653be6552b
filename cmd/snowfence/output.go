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
//   - Text fits 80 columns, has no colour, and may change.

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
	"sync"
	"time"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/counter"
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

// report is the answer of a verb. Its objects are for programs, and each is printed at once, on a line of its
// own. Its page and its rows are for people, and are printed at the end.
type report struct {
	program
	form form
	page.Page
	rows [][]string
}

// report adds -o to a verb, and returns the verb's answer.
func (p program) report(cmd *cobra.Command) *report {
	out := &report{program: p, form: textForm}
	choiceFlag(cmd, &out.form, "output", "o", "form of the output: %s", textForm, jsonForm)
	return out
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

// whole prints an object, whose text is its names and values.
func (out *report) whole(o page.Object) error { return out.answer(o, o.Text()) }

// verdict prints a whole answer, and notes for a code other than 0, which it returns as an error.
func (out *report) verdict(document any, text string, code int, notes ...string) error {
	if err := out.answer(document, text); err != nil || code == exitOK {
		return err
	}
	for _, note := range notes {
		out.note("%s", note)
	}
	return reported(code)
}

// print writes text.
func (p program) print(text string) error {
	_, err := io.WriteString(p.stdout, page.Visible(text, "\n\t"))
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

// each calls show after each pause until stop is called.
func (p program) each(pause time.Duration, show func()) (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			late, drop := p.clock.After(pause)
			select {
			case <-late:
				show()
			case <-quit:
				drop()
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-ended
	}
}

// awaiting notes a verb's wait once, unless done is called soon.
func (p program) awaiting(what string) (done func()) {
	return p.each(p.slow, sync.OnceFunc(func() { p.note("waiting for %s; Ctrl-C ends it", what) }))
}

// writing are the flags of a verb that writes to a store.
type writing struct {
	yes      bool             // without it the plan is shown, and nothing is written
	patience counter.Patience // how the write becomes certain
}

// unwritten is the note beside a plan.
const unwritten = "nothing was written: --yes writes it"

// writingFlags adds --yes to a verb.
func (p program) writingFlags(cmd *cobra.Command) *writing {
	w := &writing{}
	cmd.Flags().BoolVar(&w.yes, "yes", false, "write; without it the plan is shown, and nothing is written")
	w.patience.Waiting = func(until time.Time) {
		at := until.UTC().Add(time.Second - 1).Format(time.RFC3339)
		p.note("the store can lose what it acknowledged last: waiting until %s, to make sure that nothing is lost", at)
	}
	return w
}

// drawnEvery is the pause between two lines of progress, drawn over each other.
const drawnEvery = 200 * time.Millisecond

// watch shows the progress of sorting ids on a terminal, until stop is called.
func (p program) watch(progress *idsort.Progress) (stop func()) {
	if !p.draws {
		return func() {}
	}
	began := p.clock.Monotonic()
	quit := p.each(drawnEvery, func() {
		spent := (p.clock.Monotonic() - began).Truncate(time.Second)
		_, _ = fmt.Fprintf(p.stderr, "\r%s, %s\x1b[K", howFar(progress.Snapshot()), spent)
	})
	return func() {
		quit()
		_, _ = fmt.Fprint(p.stderr, "\r\x1b[K")
	}
}

// howFar is the progress of sorting ids in less than 70 columns.
func howFar(s idsort.Snapshot) string {
	if s.Phase == idsort.Merging {
		return fmt.Sprintf("comparing: %s of %s", text.Grouped(s.Merged), text.Count(s.IDs, "id"))
	}
	return "reading: " + text.Count(s.IDs, "id")
}
