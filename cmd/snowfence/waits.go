package main

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/internal/text"
)

// slow is how long a verb waits without a note.
const slow = 2 * time.Second

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
	return p.each(slow, sync.OnceFunc(func() { p.note("waiting for %s; Ctrl-C ends it", what) }))
}

// writing are the flags of a verb that writes to a store.
type writing struct {
	dry, yes bool
	patience counter.Patience // how the write becomes certain
}

// writingFlags adds --dry-run and --yes to a verb, and --no-wait if a lossy store can lose its write.
func (p program) writingFlags(cmd *cobra.Command, losable bool) *writing {
	w := &writing{}
	cmd.Flags().BoolVar(&w.dry, "dry-run", false, "show what would be written, and write nothing")
	cmd.Flags().BoolVar(&w.yes, "yes", false, "write without asking")
	if !losable {
		return w
	}
	w.patience.Waiting = func(until time.Time) {
		at := until.UTC().Add(time.Second - 1).Format(time.RFC3339)
		p.note("the store can lose what it acknowledged last: waiting until %s, to make sure that nothing is lost", at)
	}
	cmd.Flags().BoolVar(&w.patience.NoWait, "no-wait", false, "do not wait until a lossy store can't lose the write: exit code 6")
	return w
}

// confirm asks whether to go on, unless yes is set. Without a terminal, a missing --yes is an error of usage.
func (p program) confirm(cmd *cobra.Command, yes bool, question string) error {
	if yes {
		return nil
	}
	if !p.asks {
		return usage(cmd, fmt.Errorf("%s: there is no terminal to ask on: add --yes, or --dry-run to look only", question))
	}
	if _, err := fmt.Fprintf(p.stderr, "snowfence: %s? [y/N] ", page.Visible(question, "")); err != nil {
		return err
	}
	answer, _ := bufio.NewReader(p.stdin).ReadString('\n')
	if word := strings.ToLower(strings.TrimSpace(answer)); word != "y" && word != "yes" {
		return errNotConfirmed
	}
	return nil
}

// errNotConfirmed is returned when the user does not agree.
var errNotConfirmed = errors.New("not confirmed: nothing was written")

// The pause between two lines of progress: drawn over each other on a terminal, or written.
const (
	drawnEvery   = 200 * time.Millisecond
	writtenEvery = 10 * time.Second
)

// watch shows the progress of sorting ids, on a terminal or if asked, until stop is called.
func (p program) watch(progress *idsort.Progress, asked bool) (stop func()) {
	if !p.draws && !asked {
		return func() {}
	}
	began := p.clock.Monotonic()
	every, last, show := writtenEvery, "", func(line string) { p.note("%s", line) }
	if p.draws {
		every, last = drawnEvery, "\r\x1b[K"
		show = func(line string) { _, _ = fmt.Fprintf(p.stderr, "\r%s\x1b[K", line) }
	}
	line := func() string {
		return fmt.Sprintf("%s, %s", howFar(progress.Snapshot()), (p.clock.Monotonic() - began).Truncate(time.Second))
	}
	quit := p.each(every, func() { show(line()) })
	return func() {
		quit()
		if last == "" {
			show(line())
		}
		_, _ = fmt.Fprint(p.stderr, last)
	}
}

// howFar is the progress of sorting ids in less than 70 columns.
func howFar(s idsort.Snapshot) string {
	if s.Phase == idsort.Merging {
		return fmt.Sprintf("comparing: %s of %s", text.Grouped(s.Merged), text.Count(s.IDs, "id"))
	}
	line := "reading: " + text.Count(s.IDs, "id")
	if s.Size > 0 {
		line += fmt.Sprintf(", %d %% of the sources", min(100, 100*s.Bytes/s.Size))
	}
	return line
}
