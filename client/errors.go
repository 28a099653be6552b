package client

import (
	"errors"

	"snowfence.example/snowfence"
)

// Errors of a [Client].
var (
	// ErrClosed is returned by calls after Close, and by those that Close ends.
	ErrClosed = snowfence.NewError(snowfence.ClassUnavailable, "client: closed")

	// ErrUnavailable is wrapped by the error of a call that waited for MaxWait while no server gave
	// ids. It wraps what the last server said, too.
	ErrUnavailable = snowfence.NewError(snowfence.ClassUnavailable, "client: no server gives ids")

	// ErrBackwards is wrapped, beside [ErrUnavailable], when answers were refused because they went back
	// or repeated ids.
	ErrBackwards = errors.New("client: a server's ids went back")
)

// ServerError is an error that a server answered with.
type ServerError struct {
	Server string // its address
	Code   string // such as ERR, NOAUTH, NOPERM, TRYAGAIN, NOLEASE or CLOCK
	Text   string
}

// Error has the server's own words.
func (e *ServerError) Error() string {
	return "client: server " + e.Server + ": " + e.Code + " " + e.Text
}

// Class is that of the code: what may pass, an unsafe lease or clock, or a mistake.
func (e *ServerError) Class() snowfence.Class {
	switch e.Code {
	case "TRYAGAIN":
		return snowfence.ClassUnavailable
	case "NOLEASE":
		return snowfence.ClassLease
	case "CLOCK":
		return snowfence.ClassClock
	}
	return snowfence.ClassUsage
}
