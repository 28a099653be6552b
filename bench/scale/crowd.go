package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/sim"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/memstore"
)

// engine is the model of a store: a queue with one server.
type engine struct {
	way     time.Duration // a request's time on the network, there and back
	request time.Duration // to serve one get or swap
	entry   time.Duration // and each register that a list yields
}

// count is what was asked of the store.
type count struct {
	gets, swaps, conflicts, lists, entries int
}

func (c count) plus(o count) count {
	return count{c.gets + o.gets, c.swaps + o.swaps, c.conflicts + o.conflicts, c.lists + o.lists, c.entries + o.entries}
}

func (c count) requests() int { return c.gets + c.swaps + c.lists }

func (c count) minus(o count) count {
	return count{c.gets - o.gets, c.swaps - o.swaps, c.conflicts - o.conflicts, c.lists - o.lists, c.entries - o.entries}
}

// crowd is many processes around one store. It is one goroutine's.
type crowd struct {
	engine engine
	loss   time.Duration // what the store can lose
	layout snowfence.Layout
	random *rand.Rand
	client store.Store

	agenda    sim.Agenda
	busy      time.Duration // until when the engine serves those before
	processes []*process
	holding   int
}

// process is one of the crowd.
type process struct {
	crowd   *crowd
	state   lease.State
	waking  int // counts settings of the timer; an earlier one is void
	holding bool
	since   time.Duration // when it claimed its worker id
	count   count
}

// newCrowd returns a crowd whose layout has that many bits of worker id.
func newCrowd(e engine, workerBits int, seed uint64) *crowd {
	layout := snowfence.DefaultLayout()
	layout.Fields = []snowfence.Field{
		{Kind: snowfence.Time, Bits: 41}, {Kind: snowfence.Worker, Bits: workerBits}, {Kind: snowfence.Sequence, Bits: 22 - workerBits},
	}
	c := &crowd{engine: e, layout: layout, random: rand.New(rand.NewPCG(seed, 1))}
	c.client = memstore.NewWith(memstore.Config{Rand: c}).Client()
	return c
}

// Read makes the crowd the source of all that is random, so that a run is
// repeated by its seed.
func (c *crowd) Read(b []byte) (int, error) {
	for i := 0; i < len(b); i += 8 {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], c.random.Uint64())
		copy(b[i:], word[:])
	}
	return len(b), nil
}

// join adds a process that starts at the given time from now.
func (c *crowd) join(after time.Duration) error {
	state, err := lease.New(lease.Config{
		Layout:  c.layout,
		Process: lease.Process{Host: fmt.Sprintf("host-%d", len(c.processes)), PID: 1, Started: c.wall()},
		Loss:    c.loss,
		// As fence takes it from the default policy.
		MaxRollback: 5 * time.Second,
	})
	if err != nil {
		return err
	}
	p := &process{crowd: c, state: state}
	c.processes = append(c.processes, p)
	c.agenda.After(after, func() { p.step(lease.Started{}) })
	return nil
}

// until lets time pass until the instant, or until done says so.
func (c *crowd) until(end time.Duration, done func() bool) {
	for !done() {
		if at, ok := c.agenda.Next(); !ok || at > end {
			c.agenda.Skip(end)
			return
		}
		c.agenda.Proceed()
	}
}

// asked is what some processes asked of the store so far.
func asked(processes []*process) count {
	var all count
	for _, p := range processes {
		all = all.plus(p.count)
	}
	return all
}

func (c *crowd) wall() time.Time { return c.layout.Epoch.Add(24*time.Hour + c.agenda.Now()) }

func (p *process) step(e lease.Event) {
	c := p.crowd
	moment := lease.Moment{Wall: c.wall(), Monotonic: c.agenda.Now()}
	_, _ = c.Read(moment.Random[:])
	var requests []lease.Request
	p.state, requests = p.state.Step(e, moment)
	for _, request := range requests {
		p.perform(request)
	}
	p.waking++
	if at, ok := p.state.Wake(); ok {
		waking := p.waking
		c.agenda.After(max(0, at-c.agenda.Now()), func() {
			if p.waking == waking {
				p.step(lease.Woken{})
			}
		})
	}
}

func (p *process) perform(request lease.Request) {
	c := p.crowd
	switch request.(type) {
	case lease.Get, lease.Swap, lease.List, lease.Ask:
		c.agenda.After(c.engine.way/2, func() { c.serve(p, request) })
	case lease.Start:
		p.holding, p.since = true, c.agenda.Now()
		c.holding++
	case lease.Revoke:
		p.holding = false
		c.holding--
	}
}

// serve carries a request out when its turn comes, and sends the answer back.
func (c *crowd) serve(p *process, request lease.Request) {
	reply, cost := c.answer(p, request)
	c.busy = max(c.busy, c.agenda.Now()) + cost
	c.agenda.After(c.busy-c.agenda.Now()+c.engine.way/2, func() { p.step(reply) })
}

// answer is what the store says, and how long it takes to.
func (c *crowd) answer(p *process, request lease.Request) (lease.Reply, time.Duration) {
	ctx := context.Background()
	switch r := request.(type) {
	case lease.Get:
		p.count.gets++
		entry, err := c.client.Get(ctx, r.Key)
		if errors.Is(err, store.ErrNotFound) {
			return lease.Reply{ID: r.ID, Outcome: lease.Absent}, c.engine.request
		}
		return lease.Reply{ID: r.ID, Outcome: lease.Found, Entry: entry, Err: err}, c.engine.request
	case lease.Swap:
		p.count.swaps++
		version, err := c.client.Swap(ctx, r.Key, r.Prev, r.Value)
		if errors.Is(err, store.ErrConflict) {
			p.count.conflicts++
			return lease.Reply{ID: r.ID, Outcome: lease.Conflict}, c.engine.request
		}
		return lease.Reply{ID: r.ID, Outcome: lease.Swapped, Version: version, Err: err}, c.engine.request
	case lease.List:
		p.count.lists++
		reply := lease.Reply{ID: r.ID, Outcome: lease.Listed}
		for entry, err := range c.client.List(ctx, r.Prefix) {
			if err != nil {
				return lease.Reply{ID: r.ID, Err: err}, c.engine.request
			}
			reply.Entries = append(reply.Entries, entry)
		}
		p.count.entries += len(reply.Entries)
		return reply, c.engine.request + time.Duration(len(reply.Entries))*c.engine.entry
	default:
		return lease.Reply{Err: errors.New("the model has no such request")}, 0
	}
}
