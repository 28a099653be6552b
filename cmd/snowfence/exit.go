package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/internal/text"
	"snowfence.example/snowfence/store"
)

// The exit codes. Scripts rely on them.
const (
	exitOK          = 0
	exitFailure     = 1 // anything not below
	exitUsage       = 2 // the command line or the configuration is wrong
	exitUnavailable = 3 // the store, the address or a worker id; trying again may help
	exitInvalidID   = 4 // a text is no id, or no id of the layout
	exitUnsafe      = 5 // the clock or the lease is unsafe, so ids could repeat
	exitUncertain   = 6 // a lossy store may have lost an operator's write, or may lose it yet

	// exitSignal plus the signal's number is the code of an interrupted verb whose 1 is a
	// finding, and of every verb that a second interrupt ends.
	exitSignal = 128
)

// exitUnless returns the code of an answer, which may be bad news.
func exitUnless(good bool) int {
	if good {
		return exitOK
	}
	return exitFailure
}

// classed is an error with the class that a verb gives it.
type classed struct {
	error
	class snowfence.Class
	verb  string // the full name of the verb whose help may help, or empty
}

func (e *classed) Unwrap() error          { return e.error }
func (e *classed) Class() snowfence.Class { return e.class }

// usage marks an error as a mistake in the command line.
func usage(cmd *cobra.Command, err error) error {
	return &classed{err, snowfence.ClassUsage, cmd.CommandPath()}
}

// unavailable marks an error as temporary, such as an address in
// use, unless the error has a class already or comes from an interrupt.
func unavailable(err error) error {
	if err == nil || snowfence.ClassOf(err) != snowfence.ClassUnknown || errors.Is(err, context.Canceled) {
		return err
	}
	if errors.As(err, new(*store.KeyError)) { // no name of anything in a store
		return &classed{err, snowfence.ClassUsage, ""}
	}
	return &classed{err, snowfence.ClassUnavailable, ""}
}

// byClass adds the verb's help to errors of usage, and turns errors without a class into
// unavailable, because exit code 1 of such a verb is a finding.
func byClass(cmd *cobra.Command, err error) error {
	switch {
	case errors.As(err, new(reported)):
		return err
	case snowfence.ClassOf(err) == snowfence.ClassUsage:
		return usage(cmd, err)
	}
	return unavailable(err)
}

// reported is an exit code whose reason the verb has printed already.
type reported int

func (r reported) Error() string { return fmt.Sprintf("exit code %d", int(r)) }

// interruptError is the cause of a context that a signal ended, a [context.Canceled].
type interruptError struct{ signal syscall.Signal }

func (e interruptError) Error() string        { return "interrupted: " + e.signal.String() }
func (e interruptError) Is(target error) bool { return target == context.Canceled }

// code is a shell's for a process that the signal ended: 130 for SIGINT, 143 for SIGTERM.
func (e interruptError) code() int {
	return exitSignal + int(cmp.Or(e.signal, syscall.SIGINT))
}

// interrupted notes that a verb whose exit code 1 is a finding was interrupted, and returns
// the signal's code. A context that ended without a signal counts as SIGINT.
func (p program) interrupted(ctx context.Context, format string, args ...any) error {
	var by interruptError
	errors.As(context.Cause(ctx), &by)
	p.note("interrupted"+format, args...)
	return reported(by.code())
}

// exitCode returns the exit code of an error. No other place decides it.
func exitCode(err error) int {
	var code reported
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, new(*counter.UncertainError)):
		return exitUncertain
	}
	codes := map[snowfence.Class]int{
		snowfence.ClassUsage: exitUsage, snowfence.ClassInvalidID: exitInvalidID, snowfence.ClassUnavailable: exitUnavailable,
		snowfence.ClassClock: exitUnsafe, snowfence.ClassLease: exitUnsafe,
	}
	return cmp.Or(codes[snowfence.ClassOf(err)], exitFailure)
}

// finish prints an error and returns the exit code. An error of a pipe whose reader has gone is not printed.
func (p program) finish(err error) int {
	code := exitCode(err)
	switch {
	case err == nil, errors.As(err, new(reported)), errors.Is(err, syscall.EPIPE):
		return code
	case errors.Is(err, context.Canceled) && code == exitFailure:
		p.note("interrupted")
		return code
	}
	p.say(text.Message(err))
	var wrong *classed
	if errors.As(err, &wrong) && wrong.verb != "" {
		p.note("see '%s --help'", wrong.verb)
	}
	return code
}
