package fence_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence/lease"
)

// node is one machine. A process runs on it most of the time: a state, and a
// generator while there is a term.
type node struct {
	w      *world
	host   string
	offset time.Duration // of its clock
	slept  time.Duration // for how long its monotonic clock stood still
	cut    bool          // it reaches the store no more

	process  int // counts its processes; what was sent to an earlier one is void
	state    lease.State
	alive    bool
	paused   time.Duration // stopped until then
	issuer   *issuer
	waking   int    // counts settings of the timer; an earlier one is void
	answered uint64 // the greatest id of a request that was answered or given up
	bent     bent   // what a mutant remembers

	disk      disk
	resumedAt snowfence.Tick // where the process's page ended, if it had one
}

func (n *node) clock() worldClock { return worldClock{n.w, n} }

// boot starts a process.
func (n *node) boot() {
	p := n.w.plan
	config := lease.Config{
		Layout: worldLayout(), Window: worldWindow, MaxRollback: worldRollback, Loss: p.loss, EngineClock: p.engine,
		Process: lease.Process{Host: n.host, PID: n.process, Started: n.clock().Wall()},
	}
	if p.pinned {
		config.Worker = new(int64)
	}
	started := lease.Started{}
	if p.disks {
		var usable bool
		if started.Page, usable = n.disk.take(); usable {
			config.JournalAhead = worldAhead
		}
		if started.Page != nil {
			n.resumedAt = started.Page.Used
		}
	}
	if n.w.mutant.config != nil {
		n.w.mutant.config(&config)
	}
	state, err := lease.New(config)
	if err != nil {
		n.w.breaks("world", "%v", err)
		return
	}
	n.process++
	n.state, n.alive, n.issuer, n.answered, n.bent = state, true, nil, 0, bent{}
	n.step(started)
	n.soon(n.w.upTo(10*time.Millisecond), n.mint)
}

// crash ends the process without a word, and starts another one in a while,
// now and then with another time.
func (n *node) crash() {
	n.w.tally.crashes++
	if n.w.plan.disks {
		power := n.w.chance(30)
		if power {
			n.w.tally.powerLosses++
		}
		n.disk.crash(power)
		n.disk.somebodyRestores()
	}
	n.end()
	often := 40
	if n.w.plan.disks {
		often = 70 // a page that is too old shows where the clock stepped back
	}
	if n.w.chance(often) {
		n.offset = n.w.spread(200 * time.Millisecond)
	}
}

// end takes the process away and plans the next.
func (n *node) end() {
	n.alive, n.issuer = false, nil
	n.process++
	rests := 150 * time.Millisecond
	if n.w.plan.disks {
		rests = 50 * time.Millisecond // while the window of the term lasts
	}
	n.w.after(n.w.upTo(rests), n.boot)
}

// soon plans something that this process does, unless it is gone by then; a
// process that is paused does it when it goes on.
func (n *node) soon(d time.Duration, do func()) { n.soonAs(n.process, d, do) }

func (n *node) soonAs(process int, d time.Duration, do func()) {
	var act func()
	act = func() {
		switch {
		case !n.alive || n.process != process:
		case n.w.now < n.paused:
			n.w.after(n.paused-n.w.now, act)
		default:
			do()
		}
	}
	n.w.after(d, act)
}

// trouble befalls the node now and then.
func (n *node) trouble() {
	w := n.w
	if w.plan.quiet {
		return
	}
	switch dice := w.rng.IntN(100); {
	case !n.alive || w.now < n.paused:
	case dice < 25:
		n.crash()
	case dice < 50:
		n.pause(min(w.upTo(2*worldWindow), w.plan.length-w.now))
	case dice < 65:
		w.tally.steps++
		n.offset = w.spread(worldSkew)
	case dice < 66 && w.plan.leaps:
		w.tally.steps++
		n.offset += 11 * time.Minute
	case dice < 85:
		n.step(lease.ReleaseAsked{})
		if w.plan.disks {
			n.soon(w.upTo(2*worldWindow), n.leave)
		}
	}
	w.after(w.upTo(400*time.Millisecond), n.trouble)
}

// pause stops the process, and often the machine with it, and then its
// monotonic clock as well.
func (n *node) pause(d time.Duration) {
	n.w.tally.pauses++
	n.paused = n.w.now + d
	if n.w.chance(40) {
		n.w.tally.suspends++
		n.slept += d
	}
}

// mint asks the generator for a few ids, as callers do.
func (n *node) mint() {
	n.soon(n.w.upTo(10*time.Millisecond), n.mint)
	by := n.issuer
	if by == nil {
		return
	}
	for range 1 + n.w.rng.IntN(3) {
		id, err := by.gen.Next(context.Background())
		if err != nil {
			if errors.Is(err, snowfence.ErrWindowEnded) {
				n.step(lease.WindowEnded{})
			}
			break
		}
		n.w.issued(id, by)
	}
	if n.issuer == by && by.gen.Status().ClockLost {
		n.step(lease.ClockLost{Stepped: errors.Is(by.gen.Status().Revoked, snowfence.ErrClockStepped)})
	}
}

// step drives the state, through the mutant if there is one, and carries out
// what it asks.
func (n *node) step(e lease.Event) {
	moment := lease.Moment{Wall: n.clock().Wall(), Monotonic: n.clock().Monotonic()}
	for i := range moment.Random {
		moment.Random[i] = byte(n.w.rng.Uint64())
	}
	if n.issuer != nil && n.w.plan.disks {
		moment.Stamping = n.issuer.gen.Status().Now
	}
	before := n.state
	state, requests := before.Step(e, moment)
	n.state = state
	if n.w.mutant.bend != nil {
		requests = n.w.mutant.bend(n, before, e, requests)
	}
	for _, request := range requests {
		n.perform(request)
	}
	n.waking++
	if at, ok := n.state.Wake(); ok {
		waking := n.waking
		n.soon(max(0, at-n.clock().Monotonic()), func() {
			if n.waking == waking {
				n.step(lease.Woken{})
			}
		})
	}
}

func (n *node) perform(request lease.Request) {
	switch r := request.(type) {
	case lease.Get:
		n.call(r.ID, r)
	case lease.Swap:
		n.call(r.ID, r)
	case lease.List:
		n.call(r.ID, r)
	case lease.Ask:
		n.call(r.ID, r)
	case lease.Start:
		n.start(r)
	case lease.Extend:
		n.w.tally.extensions++
		if err := n.issuer.gen.Extend(r.Until); err != nil && !errors.Is(err, snowfence.ErrRevoked) {
			n.w.breaks("world", "extend: %v", err)
		}
	case lease.Revoke:
		n.issuer.gen.Revoke(r.Cause)
		n.issuer = nil
	case lease.Drain:
		reserved := n.issuer.gen.Revoke(nil)
		n.issuer = nil
		n.step(lease.Drained{Reserved: reserved})
	case lease.Keep:
		n.disk.keep(r)
	case lease.Discard:
		n.disk.discard(r)
	case lease.Report:
		switch r.What {
		case lease.Lost:
			n.w.tally.lost++
		case lease.Ended:
			n.w.tally.released++
			n.end()
		case lease.Broken:
			if n.w.plan.loss == 0 {
				n.w.breaks("world", "%v", r.Err)
			}
			n.end()
		default:
		}
	}
}

func (n *node) start(r lease.Start) {
	n.w.tally.terms++
	if r.Resumed {
		n.w.tally.resumed++
		if n.w.now < n.w.away {
			n.w.tally.alone++
		}
	}
	gen, err := snowfence.NewGenerator(snowfence.GeneratorConfig{
		Layout: worldLayout(), Worker: r.Worker, Floor: r.Floor, Until: r.Until, Clock: n.clock(),
		Policy: snowfence.Policy{MaxRollback: worldRollback, MaxBurst: 3 * time.Millisecond, MaxWait: 2 * time.Millisecond},
		Rand:   n.w.rng.Uint64,
	})
	if err != nil {
		n.w.breaks("world", "start: %v", err)
		return
	}
	n.issuer = &issuer{
		name:  fmt.Sprintf("%s, process %d, term %d of worker %d", n.host, n.process, r.Term, r.Worker),
		host:  n.host,
		nonce: n.state.View().Register.Holder, worker: r.Worker, floor: r.Floor, gen: gen,
	}
}

// call sends a request over the network. It may be lost or late, and so may
// its answer; what takes too long is given up, and may still happen.
func (n *node) call(id uint64, request lease.Request) {
	w := n.w
	there, back := w.upTo(8*time.Millisecond), w.upTo(8*time.Millisecond)
	lost := n.cut || w.now < w.away
	if !w.plan.quiet {
		switch dice := w.rng.IntN(100); {
		case dice < 6:
			lost = true
		case dice < 12:
			back = time.Hour
		case dice < 18:
			there = w.upTo(2 * worldWindow)
		case dice < 22:
			back = w.upTo(2 * worldTimeout)
		}
	}
	process, blind := n.process, n.bent.blind
	n.bent.blind = false
	if !lost {
		w.after(there, func() {
			reply := w.answer(request, blind)
			n.soonAs(process, back, func() { n.hear(id, reply) })
		})
	}
	n.soon(worldTimeout, func() {
		if n.answered < id {
			w.tally.unknown++
			n.hear(id, lease.Reply{ID: id, Err: errors.New("no answer in time")})
		}
	})
}

// hear takes the first answer to a request, be it the store's or the timeout's.
func (n *node) hear(id uint64, reply lease.Reply) {
	if n.answered < id {
		n.answered = id
		n.step(reply)
	}
}
