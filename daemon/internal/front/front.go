package front

import (
	"context"
	"net/netip"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/kind"
)

// Service mints ids for fronts. It is safe for concurrent use.
type Service interface {
	// Guarded reports whether clients must show a token.
	Guarded() bool

	// Client returns the client at an address. Where clients need tokens it may do nothing yet.
	Client(address netip.Addr) Client

	// Statuses returns how each generator stands, by name.
	Statuses() []Status

	// Refusals returns the requests that were refused since the start, by generator and type, the latest first.
	Refusals() []Refusal
}

// Client is one client: a connection, or one request where a protocol lacks sessions. Its token
// gives its rights, and its token and its address have a rate. Its errors are [*Problem]s. It is not
// safe for concurrent use.
type Client interface {
	// Authorize returns an error unless the token is valid, or clients need no token. It takes the same
	// time for every wrong token of a length. After too many wrong tokens from an address it refuses
	// even a right one: or guesses would be as fast as requests.
	Authorize(token string) error

	// Guessed reports whether Authorize has looked at a token, and it was wrong.
	Guessed() bool

	// Trust lets a client in that the front has identified by itself, as by a TLS certificate.
	Trust()

	// Trusted reports whether the front has identified the client.
	Trusted() bool

	// Who returns a key for maps that distinguishes clients: by their token, or without a token by their address.
	Who() any

	// Admit returns an error if the client may not use a generator. It takes nothing from a rate.
	Admit(generator string) error

	// Allows reports whether the client's token is for a generator of this name, if there is one.
	Allows(generator string) bool

	// ReadMetrics returns an error unless the client may read the metrics.
	ReadMetrics() error

	// Statuses returns how the generators stand that the client may use, by name.
	Statuses() ([]Status, error)

	// Use finds the generator of a request. The Use is valid until the next one of the client. A request to a
	// generator that does not exist costs one id.
	Use(generator string) (Use, error)

	// Release gives back the memory that [Use.Hold] has returned.
	Release(bytes int)

	// Decode takes an id apart, in any encoding, under a layout, by default the one that all generators
	// share; or as an id of a generator, which can be opaque. The answer becomes JSON. It costs one id,
	// as Parts does.
	Decode(id, layout, generator string) (any, error)

	// Parts takes an id apart by the layout that all generators share.
	Parts(id string) (snowfence.Layout, snowfence.Parts, error)

	// LeafRows returns the rows of leaf_alloc that the client's generators count on. Each costs
	// one id.
	LeafRows(ctx context.Context) ([]kind.Row, error)

	// Warn logs that a client gets less than it asks for, by a protocol that can't report it: once a minute at most.
	Warn(text string, arguments ...any)

	// Now is the service's time.
	Now() time.Time
}

// Use is one request of a client to one generator. Its errors are [*Problem]s. It ends with its request, or with its
// message where a request has many: by then the client may have lost its token.
type Use interface {
	// Kind is the kind of the generator's ids.
	Kind() string

	// Form returns the form of the ids, or zero while the generator is starting.
	Form() kind.Form

	// Most returns how many ids one request may ask for.
	Most() int

	// InvalidCount returns the problem with a number of ids that can't be read. It costs one id.
	InvalidCount(text string) error

	// Hold takes the memory of an answer with n ids, before they are minted, and returns how much that is. The front
	// gives it back by [Client.Release] when the answer is written.
	Hold(n int) (bytes int, err error)

	// Mint appends n new ids to the batch, or nothing on an error. It takes them from the rates of the
	// client, and gives unused ones back.
	Mint(ctx context.Context, n int, into *kind.Batch) error

	// Show appends the text by which an opaque generator shows an id that exists. It costs one id.
	Show(id string, into *kind.Batch) error

	// Range reserves n consecutive numbers of a generator that a store counts, and returns the first. It costs all
	// numbers that were used up for it.
	Range(ctx context.Context, n int) (snowfence.ID, error)

	// Segment reserves a whole segment for the client, and costs all its numbers.
	Segment(ctx context.Context) (kind.Range, error)

	// Series returns the verbs of a generator whose numbers are reserved. It costs one id, so each request asks again.
	Series() (kind.Series, error)

	// Claim, Extend and Release are the verbs of a worker id that a client borrows. A claim costs 1,000 ids, and the
	// others one. If ctx ends before Claim returns, the worker id is given back.
	Claim(ctx context.Context, form kind.LeaseForm) (kind.Lent, error)
	Extend(ctx context.Context, form kind.LeaseForm) (kind.Lent, error)
	Release(ctx context.Context, form kind.LeaseForm) error
}

// Meter counts the requests of a front. It is safe for concurrent use.
type Meter interface {
	// Began returns when a request began, for Answered. The clock is monotonic.
	Began() time.Duration

	// Answered counts requests that were answered together. It returns the time of its clock.
	Answered(began time.Duration, requests int) (now time.Duration)

	// Failed counts a request that was answered with a problem, by the name of its type.
	Failed(problem string)

	// Agent returns a function that counts an id of clients that call themselves so.
	Agent(name string) (count func())
}

// Limits are the limits of a front's connections and requests.
type Limits struct {
	Connections               int // open ones, of all fronts
	Header, Body              int // bytes of a request
	ReadTimeout, WriteTimeout time.Duration
	IdleTimeout               time.Duration // between two requests of HTTP or gRPC
	Session                   time.Duration // the same of RESP or Thrift; see [Limits.Idle]
}

const (
	// strangerSession is how long a client may be silent that is neither on this host nor known by a token.
	strangerSession = time.Hour

	// anySession stands for any time.
	anySession = 10 * 365 * 24 * time.Hour
)

// Idle is how long a client of RESP or Thrift may be silent between two requests: Session, if that is set.
// Otherwise it is any time for a client that is known, by a token or since it is on this host, and an hour for
// others. The kernel ends the connections of hosts that are gone.
func (l Limits) Idle(known bool) time.Duration {
	switch {
	case l.Session > 0:
		return l.Session
	case known:
		return anySession
	}
	return strangerSession
}
