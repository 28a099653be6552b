package kind

import (
	"context"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lend"
)

// Lender lends worker ids to programs that mint by themselves: see docs/lending.md. The kinds snowflake and wide have one.
type Lender interface {
	// Claim lends a worker id, and gives it back if ctx ends before it returns.
	Claim(ctx context.Context, form LeaseForm) (Lent, error)
	// Extend moves the bound of a lease.
	Extend(ctx context.Context, form LeaseForm) (Lent, error)
	// Release gives a worker id back.
	Release(ctx context.Context, form LeaseForm) error
	// Census counts the worker ids that are lent.
	Census(ctx context.Context) (Census, error)
	// Patience is how long a request may take: then its borrower turns to another daemon.
	Patience() time.Duration
}

// LeaseForm is a request about a lease as protocols carry it: each field is a text, and empty if it is left out.
type LeaseForm struct {
	Now, Host, PID, Program string
	Worker                  string // that the request's path names; empty where a protocol lacks it
	Lease, Mark             string // of an extension or a release
	Next, Open              string // of a release
	Token                   string // the name of the client's token; the service fills it in
}

// Lent is the answer to a claim or an extension.
type Lent struct {
	Lease, Mark        string // a claim's mark is empty
	Worker, Datacenter int64
	Layout             snowfence.Layout
	Base, Check        string // in decimal
	Floor, Until       snowfence.Tick
	Window, Loss       time.Duration
	MaxBehind          time.Duration
}

// Census is how many worker ids are lent.
type Census = lend.Census
