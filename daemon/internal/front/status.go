package front

import (
	"net/netip"
	"slices"
	"time"

	"snowfence.example/snowfence/daemon/kind"
)

// Status is one generator as it stands.
type Status struct {
	Name      string
	Kind      string
	Namespace string
	// Form is zero while the generator is starting.
	Form kind.Form
	// Problem is the problem that a request would meet now or before long, or nil.
	Problem *Problem
	// StandsBy is true while another process holds the generator's one worker id, and nothing is wrong. Problem is of
	// type [Standby] then.
	StandsBy bool
	// Lease is nil while the generator is starting, or if its kind works without a lease.
	Lease *kind.Lease
	// Counter is nil while the generator is starting, or if a store does not count its ids.
	Counter *kind.Counter
	// Ends is when its ids are used up: at the layout's horizon, or when the counter reaches its
	// limit at its average rate. It is zero if that is not known, or further away than a
	// [time.Duration] reaches.
	Ends time.Time
	// EndsSoon is true from a year before Ends, and while a counter has a tenth of its numbers
	// left at most: its use may grow, and a daily sequence has no rate.
	EndsSoon bool
	// Trouble is a store that does not do its part, although ids are minted still, or nil.
	Trouble *Trouble
	// IDs and Requests count the minted ids and their requests, Problems the failed requests.
	IDs      uint64
	Requests uint64
	Problems map[Type]uint64
}

// Trouble is a store that does not do its part.
type Trouble struct {
	Text  string    // in the store's words
	Since time.Time // the first request that failed
	Until time.Time // until then ids go on; zero if that is unknown, or ids have stopped
}

// Refusal counts the requests to one generator that were refused with problems of one type.
type Refusal struct {
	Generator string     `json:"generator"` // empty for requests that were refused before their generator was known
	Type      Type       `json:"problem"`
	Count     uint64     `json:"count,string"`
	Last      time.Time  `json:"last"`             // in UTC; Address and Token are of that request
	Address   netip.Addr `json:"address,omitzero"` // of the client
	Token     string     `json:"token,omitempty"`  // the name of a token; empty without a valid one
}

// Active reports whether every generator can mint, and will be able to for a while.
func Active(statuses []Status) bool {
	return !slices.ContainsFunc(statuses, func(s Status) bool { return s.Problem != nil })
}

// Ready reports whether every generator can mint, or stands by.
func Ready(statuses []Status) bool {
	return !slices.ContainsFunc(statuses, func(s Status) bool { return s.Problem != nil && !s.StandsBy })
}
