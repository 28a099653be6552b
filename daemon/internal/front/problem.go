package front

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Meaning is the meaning of a problem to the client.
type Meaning uint8

// The meanings.
const (
	Invalid      Meaning = iota // the request can't be right, now or later
	Unauthorized                // the token is missing or wrong
	Forbidden                   // the token does not allow it
	NotFound                    // the generator or its number does not exist
	Conflict                    // the reservation or lease has ended, or is another's
	TooMany                     // the client asks for more than it may; less, or later, may succeed
	Unavailable                 // the same request may succeed later
	Cancelled                   // the client does not wait for the answer
	Broken                      // time will not mend it; an operator must
)

// Type is the stable identity of a problem. Clients may rely on it.
type Type uint8

// The types.
const (
	UnknownGenerator Type = iota
	CountOutOfRange
	InvalidID
	InvalidLayout
	InvalidToken
	NotAllowed
	RateLimited
	NotConsecutive
	NotASeries
	NeedsReservation
	InvalidReservation
	ReservationEnded
	NotLent
	InvalidLease
	LeaseGone
	LeaseMoved
	NoWorker
	LeaseLimit
	Starting
	Refused
	Standby
	Stopped
	LeaseUnavailable
	StoreUnavailable
	ClockUnsafe
	Saturated
	Overloaded
	RequestCancelled
	HorizonPassed
	NumbersUsedUp
	CounterChanged
	Internal

	Types = iota // how many types there are
)

// description has a type's name, its meaning and its title, one line for people. The detail, for
// minters' errors, leaves out facts that only an operator should read.
type description struct {
	name    string
	meaning Meaning
	title   string
	detail  string
}

// describe returns a type's description, which is empty for an unknown type.
func (t Type) describe() description {
	types := [Types]description{
		UnknownGenerator:   {"unknown-generator", NotFound, "No generator has this name", ""},
		CountOutOfRange:    {"count-out-of-range", Invalid, "The number of ids is out of range", ""},
		InvalidID:          {"invalid-id", Invalid, "The id can not be read", ""},
		InvalidLayout:      {"invalid-layout", Invalid, "The layout can not be used", ""},
		InvalidToken:       {"invalid-token", Unauthorized, "A valid token is required", ""},
		NotAllowed:         {"not-allowed", Forbidden, "The token does not allow this", ""},
		RateLimited:        {"rate-limited", TooMany, "The client asks for too many ids", ""},
		NotConsecutive:     {"not-consecutive", Invalid, "The ids are not consecutive", "ids of this generator do not follow each other, so none can be reserved by one number: mint a count of them, as by ID.NEXT with COUNT"},
		NotASeries:         {"not-a-series", NotFound, "The generator is no series", "numbers of this generator are minted, and not reserved"},
		NeedsReservation:   {"needs-reservation", Invalid, "Numbers of a series are reserved", "a number of a series is reserved, and then confirmed or voided: it can not be minted"},
		InvalidReservation: {"invalid-reservation", Invalid, "The reservation can not be used", ""},
		ReservationEnded:   {"reservation-ended", Conflict, "The reservation can not be ended", ""},
		NotLent:            {"not-lent", Invalid, "The generator lends no worker ids", "worker ids are lent of generators of kind snowflake or wide, with more than one worker id and without standby"},
		InvalidLease:       {"invalid-lease", Invalid, "The request about a lease can not be used", ""},
		LeaseGone:          {"lease-gone", Conflict, "The lease is gone", ""},
		LeaseMoved:         {"lease-moved", Conflict, "A copy of the program extends the lease", ""},
		NoWorker:           {"no-worker", Unavailable, "No worker id is free", "every worker id that may be lent is held or rests: ask later"},
		LeaseLimit:         {"lease-limit", TooMany, "No more worker ids are lent", ""},
		Starting:           {"starting", Unavailable, "The generator is starting", "the server has not opened the generator yet: it waits for a worker id or for its store; its log shows which"},
		Refused:            {"refused", Unavailable, "The generator is refused", "the generator can not start as it is set up, and an operator must act; the server's log shows why"},
		Standby:            {"standby", Unavailable, "The server stands by", "the server does not hold the one worker id of the namespace at present, and another process may: ask the other servers"},
		Stopped:            {"stopped", Unavailable, "The server has stopped minting", "the server is ending"},
		LeaseUnavailable:   {"lease-unavailable", Unavailable, "The generator has no valid lease", "the server holds no valid lease at present; its log shows why"},
		StoreUnavailable:   {"store-unavailable", Unavailable, "The store gives no numbers", "the server's store did not answer, or not in time; the server's log shows more"},
		ClockUnsafe:        {"clock-unsafe", Unavailable, "The clock does not allow ids to be minted", "the server's clock is not safe to mint by; its log shows why"},
		Saturated:          {"saturated", Unavailable, "More ids are asked for than can be minted", "more ids are wanted than ticks can number"},
		Overloaded:         {"overloaded", Unavailable, "The server has no memory for this request", "other clients keep all of the memory that the server has for them: ask for fewer ids, or later"},
		RequestCancelled:   {"request-cancelled", Cancelled, "The request ended before its ids were minted", "the request was given up or took longer than it may"},
		HorizonPassed:      {"horizon-passed", Broken, "The layout has run out of time", "the layout's time bits are used up: an operator must move to another namespace"},
		NumbersUsedUp:      {"numbers-used-up", Broken, "The counter has reached its limit", "the counter has no number left: an operator must move to another counter"},
		CounterChanged:     {"counter-changed", Broken, "The counter in the store went back, or is another one", ""},
		Internal:           {"internal", Broken, "The server failed", "the server's log shows more"},
	}
	if int(t) < len(types) {
		return types[t]
	}
	return description{}
}

// String returns the type's name, such as "count-out-of-range".
func (t Type) String() string { return t.describe().name }

// MarshalText returns the type's name.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Meaning returns the meaning of problems of this type to the client.
func (t Type) Meaning() Meaning { return t.describe().meaning }

// Title returns one line for people, the same for all problems of the type.
func (t Type) Title() string { return t.describe().title }

// RetrySoon is the pause before a retry where a better one is unknown. A lost lease
// is claimed again within a second if the store answers.
const RetrySoon = time.Second

// Problem returns a problem of the type that may be over soon, with the type's detail.
func (t Type) Problem(cause error) *Problem {
	return &Problem{Type: t, Detail: t.describe().detail, RetryAfter: RetrySoon, Cause: cause}
}

// Shown returns the part of a client's text that answers and logs may repeat: the text may be as long as a request.
func Shown(text string) string {
	const most = 128
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Field returns a problem of the type with one part of the request.
func (t Type) Field(field, value, limit string) *Problem {
	value = Shown(value)
	return &Problem{Type: t, Field: field, Value: value, Limit: limit, Detail: fmt.Sprintf("%s is %q: %s", field, value, limit)}
}

// Plain returns a problem of the type that time does not mend, with the type's detail.
func (t Type) Plain() *Problem { return &Problem{Type: t, Detail: t.describe().detail} }

// Problem is the error of every verb of a [Client] and a [Use].
type Problem struct {
	Type Type
	// Detail describes the problem. It leaves out other clients, hosts and files.
	Detail string
	// Field, Value and Limit are the wrong part of the request, its value and its limit, or empty.
	Field, Value, Limit string
	// RetryAfter is when the same request may succeed; zero if that is not known.
	RetryAfter time.Duration
	// Cause is the error behind the problem, for the log alone.
	Cause error
}

// Error describes the problem, for the log.
func (p *Problem) Error() string {
	if p.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", p.Type, p.Detail, p.Cause)
	}
	return fmt.Sprintf("%s: %s", p.Type, p.Detail)
}

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Cause }

// ProblemOf returns the problem in an error, or one of type [Internal] for another error.
func ProblemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	return &Problem{Type: Internal, Detail: "the answer could not be made"}
}
