package main

import (
	"encoding/json"
	"time"

	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/store"
)

// dialogue is how a naive allocator speaks to its store: one request at a time, and the use of its
// answer. One always comes, if only that none came in time.
type dialogue struct {
	asked uint64 // the last request's ID
	then  answer // nil: no answer is awaited
	alarm time.Duration
	armed bool
}

// answer goes on when the store has answered.
type answer func(r lease.Reply, now lease.Moment) []lease.Request

// hear takes an answer to whoever awaits it.
func (d *dialogue) hear(r lease.Reply, now lease.Moment) []lease.Request {
	if d.then == nil || r.ID != d.asked {
		return nil
	}
	then := d.then
	d.then = nil
	return then(r, now)
}

func (d *dialogue) next(then answer) uint64 {
	d.asked++
	d.then = then
	return d.asked
}

// get reads an entry.
func (d *dialogue) get(key string, then answer) []lease.Request {
	return []lease.Request{lease.Call{ID: d.next(then), Verb: lease.Get, Key: key}}
}

// list reads the entries below a prefix.
func (d *dialogue) list(prefix string, then answer) []lease.Request {
	return []lease.Request{lease.Call{ID: d.next(then), Verb: lease.List, Key: prefix}}
}

// ask reads the store's clock.
func (d *dialogue) ask(then answer) []lease.Request {
	return []lease.Request{lease.Call{ID: d.next(then), Verb: lease.Ask}}
}

// put writes an entry, if it still has the version prev.
func (d *dialogue) put(key string, prev store.Version, n note, then answer) []lease.Request {
	value, err := json.Marshal(n)
	if err != nil {
		return nil // a note is nothing but numbers and text
	}
	return []lease.Request{lease.Call{ID: d.next(then), Verb: lease.Swap, Key: key, Prev: prev, Value: value}}
}

// sleep lets woken be called after that long. A later one counts instead.
func (d *dialogue) sleep(now lease.Moment, rest time.Duration) []lease.Request {
	d.alarm, d.armed = now.Monotonic+rest, true
	return nil
}

// rings reports whether the time has come that was set, and takes it back.
func (d *dialogue) rings(now lease.Moment) bool {
	due := d.armed && now.Monotonic >= d.alarm
	d.armed = d.armed && !due
	return due
}

// Wake implements [sim.Allocator].
func (d *dialogue) Wake() (time.Duration, bool) { return d.alarm, d.armed }

// note is the naive allocators' entry in the store. Each uses the fields that it needs.
type note struct {
	Owner   string `json:",omitempty"`
	Number  int64  `json:",omitempty"`
	Expires int64  `json:",omitempty"` // by the store's clock, Unix nanoseconds; zero for one that was given back
	Wall    int64  `json:",omitempty"` // the writer's clock when it wrote
}

// byKey returns entries by their keys.
func byKey(entries []store.Entry) map[string]store.Entry {
	found := make(map[string]store.Entry, len(entries))
	for _, e := range entries {
		found[e.Key] = e
	}
	return found
}

// noted reads a note. An unreadable answer counts as an empty one.
func noted(e store.Entry) note {
	var n note
	if err := json.Unmarshal(e.Value, &n); err != nil {
		return note{}
	}
	return n
}
