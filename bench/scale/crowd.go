package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/lease/drive"
	"snowfence.example/snowfence/internal/sim"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/memstore"
)

// engine is the model of a store: a queue with one server.
type engine struct {
	way     time.Duration // a request's time on the network, there and back
	request time.Duration // to serve one get or swap
	entry   time.Duration // and each register that a list yields
}

// count is the requests to the store.
type count struct {
	gets, swaps, conflicts, lists, entries int
}

// plus adds another count, multiplied by times.
func (c count) plus(o count, times int) count {
	return count{c.gets + times*o.gets, c.swaps + times*o.swaps, c.conflicts + times*o.conflicts, c.lists + times*o.lists, c.entries + times*o.entries}
}

func (c count) requests() int { return c.gets + c.swaps + c.lists }

// crowd is many processes around one store. It is one goroutine's.
type crowd struct {
	engine engine
	loss   time.Duration // the store's loss
	layout snowfence.Layout
	random *rand.Rand
	client store.Store

	agenda    sim.Agenda
	busy      time.Duration // until when the engine serves the earlier ones
	processes []*process
	holding   int
}

// process is one of the crowd: the driver's shell.
type process struct {
	crowd   *crowd
	driver  *drive.Driver
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

// Read makes the crowd the source of all that is random, so that its seed repeats a run.
func (c *crowd) Read(b []byte) (int, error) {
	for part := range slices.Chunk(b, 8) {
		copy(part, binary.LittleEndian.AppendUint64(nil, c.random.Uint64()))
	}
	return len(b), nil
}

// join adds n processes: the first starts now, the others follow so far apart.
func (c *crowd) join(n int, apart time.Duration) error {
	for i := range n {
		self := stored.Process{Host: fmt.Sprintf("host-%d", len(c.processes)), PID: 1, Started: c.Wall()}
		state, err := lease.New(lease.Config{
			Layout: c.layout, Process: self, Loss: c.loss,
			MaxRollback: 5 * time.Second, // as fence takes it from the default policy
		})
		if err != nil {
			return err
		}
		p := &process{crowd: c}
		p.driver = drive.New(drive.Config{State: state, Clock: c}, p)
		c.processes = append(c.processes, p)
		c.agenda.After(time.Duration(i)*apart, func() { p.step(lease.Started{}) })
	}
	return nil
}

// asked is some processes' requests to the store so far.
func asked(processes []*process) count {
	var all count
	for _, p := range processes {
		all = all.plus(p.count, 1)
	}
	return all
}

// Wall, Monotonic and After make the crowd the clock of its generators, which are
// never asked for an id and so never wait.
func (c *crowd) Wall() time.Time          { return c.layout.Epoch.Add(24*time.Hour + c.agenda.Now()) }
func (c *crowd) Monotonic() time.Duration { return c.agenda.Now() }
func (c *crowd) After(time.Duration) (<-chan time.Time, func() bool) {
	return nil, func() bool { return false }
}

// step takes an event to a process. A crowd never lacks random bits.
func (p *process) step(e lease.Event) {
	c := p.crowd
	_ = p.driver.Take(e)
	p.waking++
	if at, ok := p.driver.Wake(); ok {
		waking := p.waking
		c.agenda.After(max(0, at-c.agenda.Now()), func() {
			if p.waking == waking {
				p.step(lease.Woken{})
			}
		})
	}
}

// Random implements [drive.Shell].
func (p *process) Random(b []byte) error {
	_, err := p.crowd.Read(b)
	return err
}

// Request implements [drive.Shell].
func (p *process) Request(request lease.Request) {
	c := p.crowd
	if call, ok := request.(lease.Call); ok { // there is no journal
		c.agenda.After(c.engine.way/2, func() { c.serve(p, call) })
	}
}

// Began implements [drive.Shell].
func (p *process) Began(*snowfence.Generator, lease.Start) {
	p.holding, p.since = true, p.crowd.agenda.Now()
	p.crowd.holding++
}

// Sealed implements [drive.Shell].
func (p *process) Sealed(snowfence.Tick) {
	p.holding = false
	p.crowd.holding--
}

// Report implements [drive.Shell].
func (p *process) Report(lease.Report) {}

// serve carries a request out when its turn comes, and sends the answer back.
func (c *crowd) serve(p *process, call lease.Call) {
	reply := drive.Ask(context.Background(), c.client, call)
	cost := c.engine.request + time.Duration(len(reply.Entries))*c.engine.entry
	p.count = p.count.plus(counted(call, reply), 1)
	c.busy = max(c.busy, c.agenda.Now()) + cost
	c.agenda.After(c.busy-c.agenda.Now()+c.engine.way/2, func() { p.step(reply) })
}

// counted is one request's part of the count.
func counted(call lease.Call, reply lease.Reply) count {
	switch call.Verb {
	case lease.Get:
		return count{gets: 1}
	case lease.Swap:
		if reply.Outcome == lease.Conflict {
			return count{swaps: 1, conflicts: 1}
		}
		return count{swaps: 1}
	default:
		return count{lists: 1, entries: len(reply.Entries)}
	}
}
