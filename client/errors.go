package client

import "snowfence.example/snowfence"

// Errors of a [Client].
var (
	// ErrClosed is returned by calls after Close, and by calls that Close ends.
	ErrClosed = snowfence.NewError(snowfence.ClassFinal, "client: closed")

	// ErrUnavailable is wrapped, beside the last server's error, when no server gave ids in time.
	ErrUnavailable = snowfence.NewError(snowfence.ClassUnavailable, "client: no server gives ids")

	// ErrBackwards is wrapped too when the last answer was refused: its ids went back or were given before.
	ErrBackwards = snowfence.NewError(snowfence.ClassUnavailable, "ids that went back or were given before")
)

// ServerError is a server's answer that it gives no ids, in its own words.
type ServerError struct {
	Code string // such as ERR, NOAUTH, NOPERM, TRYAGAIN, NOLEASE or CLOCK
	Text string
}

// Error has both.
func (e *ServerError) Error() string { return e.Code + " " + e.Text }

// Class is that of the code. After all but TRYAGAIN, NOLEASE and CLOCK the request is not repeated.
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
