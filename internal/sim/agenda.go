package sim

import "time"

// Agenda is what is still to happen, soonest first; what is due at the same
// time happens in the order in which it was planned. Time passes only from one
// entry to the next. The zero value is an empty one at time zero. It belongs to
// one goroutine.
type Agenda struct {
	now     time.Duration
	planned uint64
	entries []entry // a heap
}

type entry struct {
	at    time.Duration
	order uint64
	do    func()
}

// Now returns the time that has passed.
func (a *Agenda) Now() time.Duration { return a.now }

// Len returns how many entries there are.
func (a *Agenda) Len() int { return len(a.entries) }

// Next returns when the next entry is due, if there is one.
func (a *Agenda) Next() (at time.Duration, ok bool) {
	if len(a.entries) == 0 {
		return 0, false
	}
	return a.entries[0].at, true
}

// After plans something for d from now; at once if d is negative.
func (a *Agenda) After(d time.Duration, do func()) {
	a.planned++
	a.entries = append(a.entries, entry{at: a.now + max(0, d), order: a.planned, do: do})
	for i := len(a.entries) - 1; i > 0; {
		parent := (i - 1) / 2
		if !a.entries[i].before(a.entries[parent]) {
			break
		}
		a.entries[i], a.entries[parent] = a.entries[parent], a.entries[i]
		i = parent
	}
}

// Proceed lets time pass until the next entry and does it. It reports false if
// there is none.
func (a *Agenda) Proceed() bool {
	if len(a.entries) == 0 {
		return false
	}
	next := a.entries[0]
	last := len(a.entries) - 1
	a.entries[0], a.entries[last] = a.entries[last], entry{}
	a.entries = a.entries[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && a.entries[child+1].before(a.entries[child]) {
			child++
		}
		if !a.entries[child].before(a.entries[i]) {
			break
		}
		a.entries[i], a.entries[child] = a.entries[child], a.entries[i]
		i = child
	}
	a.now = next.at
	next.do()
	return true
}

// Skip lets time pass until the instant, if nothing is due before it.
func (a *Agenda) Skip(to time.Duration) {
	if at, ok := a.Next(); !ok || at >= to {
		a.now = max(a.now, to)
	}
}

func (e entry) before(o entry) bool { return e.at < o.at || e.at == o.at && e.order < o.order }
