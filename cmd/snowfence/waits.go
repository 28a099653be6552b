package main

import (
	"time"

	"github.com/spf13/cobra"

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

// patienceFlag adds --no-wait to a verb that writes, and returns how the write becomes certain.
func (p program) patienceFlag(cmd *cobra.Command) *counter.Patience {
	patience := counter.Patience{Waiting: func(until time.Time) {
		p.note("the store can lose what it acknowledged last: waiting until %s, to make sure that nothing is lost", until.UTC().Add(time.Second-1).Format(time.RFC3339))
	}}
	cmd.Flags().BoolVar(&patience.NoWait, "no-wait", false, "do not wait until a lossy store can't lose the write: exit code 6")
	return &patience
}
