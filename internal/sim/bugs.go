package sim

import (
	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/store"
)

// bugs are deliberate bugs, which tests put in the place of right code. Nothing else sets them.
type bugs struct {
	// hear changes an event before the state takes it.
	hear func(h *holder, e lease.Event) lease.Event
	// bend changes the requests that a step returned for an event.
	bend     func(h *holder, before lease.State, e lease.Event, requests []lease.Request) []lease.Request
	config   func(*lease.Config)                               // changes that of the process
	policy   func(*snowfence.Policy)                           // changes that of the generators
	guard    func(s *server, current, prev store.Version) bool // compares in the store, instead of versions
	versions func(current store.Version) []byte                // the store's next version of a key, instead of a random one
	disk     diskBug                                           // the bug of the nodes' disks
	strict   bool                                              // not a bug: repetitions under a limit break the rules, too
}

// blind is the guard of a swap that is carried out whatever the version.
const blind store.Version = "blind"

// diskBug is a bug of a journal, or around one.
type diskBug uint8

const (
	_               diskBug = iota
	consumesLate            // the page is there until the next one is
	resumesBelow            // the page is read with less used than it holds
	discardsLate            // it reports that the page is gone, and removes it later
	acceptsCopies           // a copy of an earlier page is as good as the page
	ignoresFailures         // a page that could not be kept counts as kept
	ignoresRemains          // a page that could not be removed counts as removed
	forgetsFolder           // the folder is not synced when the page is removed
	looksAway               // it is not seen that somebody else took the files
	syncsAgain              // a failed fsync is tried again, and then counts as good
)
