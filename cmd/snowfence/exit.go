package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence"
)

// The exit codes. Scripts rely on them.
const (
	exitOK          = 0
	exitFailure     = 1 // anything not below
	exitUsage       = 2 // the command line or the configuration is wrong
	exitUnavailable = 3 // the store, the address or a worker id; trying again may help
	exitInvalidID   = 4 // a text is no id, or not one of the layout
	exitUnsafe      = 5 // the clock or the lease: ids could not be vouched for

	// exitSignal and the signal's number is the code of a verb whose 1 is a
	// finding, and of any that a second interrupt ends.
	exitSignal = 128
)

// usageError is a mistake in the command line of a verb.
type usageError struct {
	verb string // the command's full name
	err  error
}

func (e *usageError) Error() string          { return e.err.Error() }
func (e *usageError) Unwrap() error          { return e.err }
func (e *usageError) Class() snowfence.Class { return snowfence.ClassUsage }

// usage marks an error as a mistake in the command line.
func usage(cmd *cobra.Command, err error) error { return &usageError{cmd.CommandPath(), err} }

// unavailableError is an error that trying again may mend, such as an address in
// use.
type unavailableError struct{ err error }

func (e *unavailableError) Error() string          { return e.err.Error() }
func (e *unavailableError) Unwrap() error          { return e.err }
func (e *unavailableError) Class() snowfence.Class { return snowfence.ClassUnavailable }

// unavailable marks an error as one that trying again may mend, unless the error
// has a class already or comes from an interrupt.
func unavailable(err error) error {
	if err == nil || snowfence.ClassOf(err) != snowfence.ClassUnknown || errors.Is(err, context.Canceled) {
		return err
	}
	return &unavailableError{err}
}

// reported is an error that the user has read already: only its exit code is
// left.
type reported int

func (r reported) Error() string { return fmt.Sprintf("exit code %d", int(r)) }

// interruptError is the cause of a context that a signal ended. It is a
// [context.Canceled].
type interruptError struct{ signal os.Signal }

func (e interruptError) Error() string        { return "interrupted: " + e.signal.String() }
func (e interruptError) Is(target error) bool { return target == context.Canceled }

// code is what a shell makes of a process that the signal ended: 130 for SIGINT,
// 143 for SIGTERM.
func (e interruptError) code() int {
	if s, ok := e.signal.(syscall.Signal); ok {
		return exitSignal + int(s)
	}
	return exitSignal + int(syscall.SIGINT)
}

// interruptedBy returns the interrupt that ended a context. What ended it without
// a signal is taken for SIGINT.
func interruptedBy(ctx context.Context) interruptError {
	by := interruptError{syscall.SIGINT}
	errors.As(context.Cause(ctx), &by)
	return by
}

// interrupted says that a verb whose 1 is a finding was interrupted, and ends it
// with the signal's code.
func (p program) interrupted(ctx context.Context, format string, args ...any) error {
	p.note("interrupted"+format, args...)
	return reported(interruptedBy(ctx).code())
}

// exitCode is the one place that says which error ends in which code.
func exitCode(err error) int {
	var code reported
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	}
	switch snowfence.ClassOf(err) {
	case snowfence.ClassUsage:
		return exitUsage
	case snowfence.ClassInvalidID:
		return exitInvalidID
	case snowfence.ClassClock, snowfence.ClassLease:
		return exitUnsafe
	case snowfence.ClassUnavailable:
		return exitUnavailable
	}
	return exitFailure
}

// as tests for an error of a type.
func as[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

// finish tells the user of an error and returns the exit code. A reader of the
// output that went away and an interrupt need no words.
func (p program) finish(err error) int {
	code := exitCode(err)
	switch {
	case err == nil, as[reported](err), errors.Is(err, syscall.EPIPE):
		return code
	case errors.Is(err, context.Canceled) && code == exitFailure:
		p.note("interrupted")
		return code
	}
	p.say(message(err))
	var wrong *usageError
	if errors.As(err, &wrong) {
		p.note("see '%s --help'", wrong.verb)
	}
	return code
}

// message is an error's text without the prefix that every line gets anyway.
func message(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, "snowfence: ")
	}
	return strings.Join(lines, "\n")
}
