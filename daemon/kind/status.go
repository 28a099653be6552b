package kind

import (
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/leafalloc"
	"snowfence.example/snowfence/counter/series"
)

// Lease is the right to a worker id as it stands: the part of a fence.Status that the daemon shows.
type Lease struct {
	Layout snowfence.Layout
	Policy snowfence.Policy

	// Worker is the worker number. Term counts its claims; it is 0 without a term. Ticks below Until may be stamped.
	Worker, Term int64
	Until        snowfence.Tick

	// Left is how long ids can be minted if the store stops answering. It is at most the Window.
	Left, Window time.Duration

	// Extensions counts the extensions of this term, Losses the terms that were lost.
	Extensions, Losses uint64

	// Outages counts how often ids stopped for longer than a call waits, WindowsEnded how often a window ended before
	// the next was acknowledged.
	Outages, WindowsEnded uint64

	// Generator is the status of the present term's generator; zero without a term.
	Generator snowfence.GeneratorStatus

	// ClockOffset is how far the clock was ahead of the store's at the last comparison. ClockCompared
	// is false before the first one.
	ClockOffset   time.Duration
	ClockCompared bool

	// HorizonIn is how long the layout lasts.
	HorizonIn time.Duration

	// Failing is why the store does not do its part now, and nil while it does. ReadOnly is true while it answers
	// reads alone.
	Failing    error
	FailingFor time.Duration
	ReadOnly   bool
}

// Counter is a counter as it stands. Limit is 0 where another system has the counter.
type Counter = counter.Status

// Range is numbers that were reserved together.
type Range = counter.Range

// Row is a row of leaf_alloc.
type Row = leafalloc.Row

// Reservation is a number of a series that its client confirms or voids.
type Reservation = series.Reservation

// Entry is a number of a series that was ever reserved.
type Entry struct {
	Number  int64
	State   string    // reserved, offered, confirmed, void or missing
	Reason  string    // of a void number
	Changed time.Time // when the state changed last, by the database's clock
}
