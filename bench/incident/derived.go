package main

import (
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/sim"
)

// derived is the allocators without a store: a process computes its worker id at its start from its
// machine, trusts the clock, and remembers nothing of the process before it. Most libraries do it by
// default.
type derived struct {
	number func(p *process) int64
}

func (d derived) begin(p *process, _ lease.Moment) []lease.Request {
	if n := d.number(p); n >= 0 && n < p.site.Layout.Workers() {
		p.issue(n)
	}
	return nil // a number that does not fit is refused
}

func (derived) woken(*process, lease.Moment) []lease.Request { return nil }

func (derived) leave(p *process, now lease.Moment) []lease.Request { return p.end(now) }

// derive makes the program of such an allocator. Its clock is read at every call,
// and one that stepped back is refused, as Twitter's server does. Some of the
// systems named are kinder than that, which repeats nothing either.
func derive(number func(p *process) int64) func(Fleet) sim.Program {
	return naive("twitter", func() routine { return derived{number} })
}

// configured is the worker id that a person wrote down. One that does not fit is
// refused, as Twitter's server and the libraries after it do.
func configured(p *process) int64 { return p.machine.Configured }

// lowIP is Sonyflake's default: the lower 16 bits of the private address, or as
// many as the field has. A clock that steps back while the process runs is refused
// here; Sonyflake's own logical time goes on, which repeats nothing either.
func lowIP(p *process) int64 {
	ip := p.machine.IP.As4()
	return (int64(ip[2])<<8 | int64(ip[3])) % p.numbers(1<<16)
}

// lowMAC is the default of DotNetCore.CAP: the low 10 bits of the card's address.
func lowMAC(p *process) int64 {
	mac := p.machine.MAC
	return (int64(mac[4])<<8 | int64(mac[5])) % p.numbers(1024)
}

// pid is the process id, as far as it fits.
func pid(p *process) int64 { return int64(p.machine.PID) % p.numbers(1024) }

// steady is the same over the clock of bwmarrin's library, which is read at the
// start and counts on from there by the monotonic one. No step of the wall clock
// moves it, so there is nothing to refuse, and a new process begins where the wall
// clock stands then.
func steady(number func(p *process) int64) func(Fleet) sim.Program {
	trusting := derive(number)
	return func(f Fleet) sim.Program {
		return func(s sim.Site) (sim.Allocator, error) {
			s.Clock = steadyClock{Clock: s.Clock, wall: s.Clock.Wall(), since: s.Clock.Monotonic()}
			return trusting(f)(s)
		}
	}
}

// steadyClock is a wall clock that is read once.
type steadyClock struct {
	snowfence.Clock

	wall  time.Time
	since time.Duration
}

// Wall implements [snowfence.Clock].
func (c steadyClock) Wall() time.Time { return c.wall.Add(c.Monotonic() - c.since) }
