package sim

import (
	"slices"
	"sort"
	"time"
)

// Agenda is what is still to happen, soonest first, and at the same time in the order in which
// it was planned. Time passes only from one entry to the next. The zero value is an empty one
// at time zero. It belongs to one goroutine.
type Agenda struct {
	now     time.Duration
	entries []entry // the soonest last
}

type entry struct {
	at time.Duration
	do func()
}

// Now returns the time that has passed.
func (a *Agenda) Now() time.Duration { return a.now }

// After plans something for d from now; at once if d is negative.
func (a *Agenda) After(d time.Duration, do func()) {
	e := entry{a.now + max(0, d), do}
	// Before all that are due at the same time, which come first.
	i := sort.Search(len(a.entries), func(i int) bool { return a.entries[i].at <= e.at })
	a.entries = slices.Insert(a.entries, i, e)
}

// Proceed lets time pass until the next entry and does it. It reports false if there is none.
func (a *Agenda) Proceed() bool {
	if len(a.entries) == 0 {
		return false
	}
	last := len(a.entries) - 1
	next := a.entries[last]
	a.entries = slices.Delete(a.entries, last, last+1)
	a.now = next.at
	next.do()
	return true
}

// Until does what is due up to an instant, and lets time pass until then. It ends
// before an entry if done says so.
func (a *Agenda) Until(end time.Duration, done func() bool) {
	for !done() {
		if n := len(a.entries); n == 0 || a.entries[n-1].at > end {
			a.now = max(a.now, end)
			return
		}
		a.Proceed()
	}
}
