package sim

import (
	"context"
	"math/rand/v2"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/stored"
)

// Allocator runs on a machine and issues ids: [Ours], or another for comparison. Its calls come from
// one goroutine, one at a time, but while Mint waits other calls are made.
//
// It speaks to its store and its disk by the lease's requests, and hears of them
// by the lease's events:
//
//	lease.Call                  answered by a lease.Reply with the same ID; IDs
//	                             count from 1, and one request is awaited at a time:
//	                             the answer to an earlier one is void
//	lease.Keep, Discard          answered by lease.Written
//	lease.Report                 Ended and Broken end the process, which is
//	                             started again after a while; others are counted
//
// Its registers may stand at any key and hold anything. A crash ends it without
// a word; the next process is another Allocator.
type Allocator interface {
	// Step takes an event, and returns the allocator's requests, in their order. The first event is
	// lease.Started. Besides the answers there are lease.Woken, lease.ReleaseAsked, when it is to end,
	// and lease.WindowEnded, when a call of Mint was refused with one of the generator's errors.
	Step(e lease.Event, now lease.Moment) []lease.Request

	// Wake returns the monotonic instant at which lease.Woken is due, if it is.
	// It is asked for after each step.
	Wake() (at time.Duration, ok bool)

	// Mint issues ids for a caller: it fills ids from the front and returns how many are to be used, or
	// 0 and an error. It may wait, by a generator with ctx and the site's clock, or by [Site.Sleep]. At
	// most one call is made at a time. ctx ends with the process.
	Mint(ctx context.Context, ids []snowfence.ID) (n int, err error)
}

// Program starts an allocator as a process, on a machine.
type Program func(s Site) (Allocator, error)

// Site is the machine and the run as a process finds them at its start.
type Site struct {
	Node, Process int                 // the machine, from 0, and its process, from 1
	Host          string              // the machine's name
	Datacenter    int64               // the machine's; 0 in a plan without datacenters
	Layout        snowfence.Layout    // the machine's
	Plan          *Plan               // the plan of the run; it must not be changed
	Clock         snowfence.Clock     // the machine's; only a generator that Mint calls may use its After
	Moment        func() lease.Moment // the present one, with fresh random bits
	Rand          *rand.Rand          // this process's own source of chance
	Journal       bool                // the machine's disk may be used

	// Sleep waits for d on the monotonic clock, within Mint, and reports false if
	// the process was ended meanwhile: then Mint must return.
	Sleep func(d time.Duration) bool

	world *world
	node  *node
	page  *stored.Page // the page of the coming Started
}
