package kind

import (
	"time"

	"snowfence.example/snowfence"
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

	// Failing is why the store does not do its part now, and nil while it does. ReadOnly says that it answers reads
	// alone.
	Failing    error
	FailingFor time.Duration
	ReadOnly   bool
}

// Counter is a counter as it stands: the part of a counter.Status that the daemon shows.
type Counter struct {
	Name string

	// Next is the number that is reserved next. Limit is the greatest, and 0 where another system has the counter.
	// Increment is the distance between two numbers, and 0 if it is not known.
	Next, Limit, Increment int64

	// Left is how many numbers are left, and Total how many there are in all. Held are the ranges in hand.
	Left, Total int64
	Held        []Range

	// RunsOut is when the numbers are used up, at the average rate. It is zero if that is not known.
	RunsOut time.Time

	// Waiting is how many calls wait for numbers.
	Waiting int

	// LastError is the last reservation's error; nil after one that succeeded. FailingFor is since when they fail.
	LastError  error
	FailingFor time.Duration
}

// Range is numbers that were reserved together: First, First + Increment, and so on, Count of them.
type Range struct {
	First     int64
	Increment int64 // at least 1
	Count     int64
}

// Last is the last number. Count must not be 0.
func (r Range) Last() int64 { return r.First + (r.Count-1)*r.Increment }

// Row is a row of leaf_alloc.
type Row struct {
	Tag     string
	MaxID   int64 // the next number that is reserved
	Step    int64
	Updated string // as the database writes it
}

// Reservation is a number of a series that its client confirms or voids.
type Reservation struct {
	Number int64
	Text   string    // as people write it
	Token  string    // ends the reservation
	Until  time.Time // by the database's clock
}

// Entry is a number of a series that was ever reserved.
type Entry struct {
	Number  int64
	State   string    // reserved, offered, confirmed, void or missing
	Reason  string    // of a void number
	Changed time.Time // when the state changed last, by the database's clock
}
