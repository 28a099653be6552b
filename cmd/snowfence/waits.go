package main

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/counter"
)

// slow is when a verb says what it waits for.
const slow = 2 * time.Second

// awaiting says what a verb waits for, unless done is called soon.
func (p program) awaiting(what string) (done func()) {
	late, drop := p.clock.After(slow)
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer drop()
		select {
		case <-late:
			p.note("waiting for %s; Ctrl-C ends it", what)
		case <-quit:
		}
	}()
	return func() {
		close(quit)
		<-ended
	}
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
		p.note("the store can lose what it acknowledged last: waiting until %s, to make sure that nothing is lost", until.UTC().Add(time.Second-1).Format(time.RFC3339))
	}
	cmd.Flags().BoolVar(&w.patience.NoWait, "no-wait", false, "do not wait until a lossy store can't lose the write: exit code 6")
	return w
}

// confirm asks whether to go on, unless --yes says so. Without a terminal to ask
// on, a missing --yes is a mistake in the command line.
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

// errNotConfirmed says that somebody was asked and did not agree.
var errNotConfirmed = errors.New("not confirmed: nothing was written")
