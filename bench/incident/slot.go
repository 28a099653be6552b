package main

import (
	"fmt"
	"time"

	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/sim"
	"snowfence.example/snowfence/store"
)

// slots is the allocators that hold a worker id for a time: the lowest free number is taken, and a loop
// beside the generator prolongs the hold before its time is over. Nothing is checked when an id is
// minted.
//
// It is more careful than many of its kind. A hold ends by the store's clock alone. Taking
// and prolonging are guarded, so there can't be two owners of one hold.
type slots struct {
	prefix string
	most   int64         // how many numbers there are
	ttl    time.Duration // how long a hold lasts; it is prolonged at each third
	// heedful says that a process which finds its hold lost stops and takes
	// another number. False means that it does not look, or does not act.
	heedful bool
	// peers says that a start is refused more than that far from the mean clock of the holders. Zero
	// means that it is not looked at.
	peers time.Duration
	// settle is how long a process waits between its hold and its first id.
	settle time.Duration

	held    string // the key; empty for none
	number  int64
	settled bool
}

// redis is SET NX with a time to live, 30 s and prolonged every 10 s by a script that compares
// the owner, as Redisson's locks have it by default. The blind form, which is common, does not look.
func redis(heedful bool) func(Fleet) sim.Program {
	prefix := map[bool]string{true: "redis/worker/", false: "blind/worker/"}[heedful]
	return slot(slots{prefix: prefix, most: 1024, ttl: 30 * time.Second, heedful: heedful})
}

// twitter is Twitter's server as first published, in 2010: the lowest free one of 31 numbers,
// each an ephemeral node, a start that is refused more than 10 s from the peers' mean clock,
// and 10 s of rest before the first id, as its configuration has them. The node goes with the
// session, here after 10 s of silence (ZooKeeper allows 4 to 40 s by default), and the server
// takes no notice. Its last version is given its number by configuration, and a start fails
// where the number's node is there: the tables on a lost hold leave that one out.
//
// It asks its peers for their clocks. Here they leave them in their nodes with the store's
// time, so that the answer is the same.
func twitter() func(Fleet) sim.Program {
	return slot(slots{prefix: "snowflake-servers/", most: 31, ttl: 10 * time.Second, peers: 10 * time.Second, settle: 10 * time.Second})
}

func slot(kind slots) func(Fleet) sim.Program {
	return naive("twitter", func() routine {
		own := kind
		return &own
	})
}

func (s *slots) begin(p *process, _ lease.Moment) []lease.Request {
	return p.list(s.prefix, func(r lease.Reply, now lease.Moment) []lease.Request {
		if r.Outcome != lease.Listed {
			return p.sleep(now, restart)
		}
		held := r.Entries
		return p.ask(func(r lease.Reply, now lease.Moment) []lease.Request {
			if r.Outcome != lease.Told || s.astray(held, r.Time, now) {
				return p.sleep(now, restart)
			}
			return s.take(p, 0, held, r.Time, now)
		})
	})
}

// astray reports whether this clock is too far from the mean of the peers'.
func (s *slots) astray(held []store.Entry, told time.Time, now lease.Moment) bool {
	var sum time.Duration
	n := time.Duration(0)
	for _, e := range held {
		if peer := noted(e); peer.Expires > told.UnixNano() {
			sum += time.Duration(peer.Wall - peer.Told)
			n++
		}
	}
	return s.peers > 0 && n > 0 && (now.Wall.Sub(told)-sum/n).Abs() > s.peers
}

// take takes the lowest number from there on whose hold is over.
func (s *slots) take(p *process, from int64, held []store.Entry, told time.Time, now lease.Moment) []lease.Request {
	before := byKey(held)
	for number := from; number < p.numbers(s.most); number++ {
		key := fmt.Sprintf("%s%05d", s.prefix, number)
		e, was := before[key]
		if was && noted(e).Expires > told.UnixNano() {
			continue
		}
		return p.put(key, e.Version, s.note(p, told, now), func(r lease.Reply, now lease.Moment) []lease.Request {
			switch {
			case r.Outcome == lease.Conflict: // somebody was faster
				return s.take(p, number+1, held, told, now)
			case r.Outcome != lease.Swapped:
				return s.begin(p, now)
			}
			s.held, s.number, s.settled = key, number, false
			if s.settle > 0 {
				return p.sleep(now, min(s.settle, s.ttl/3))
			}
			return s.serve(p, now)
		})
	}
	return p.sleep(now, restart)
}

func (s *slots) note(p *process, told time.Time, now lease.Moment) note {
	return note{Owner: p.owner(), Expires: told.Add(s.ttl).UnixNano(), Wall: now.Wall.UnixNano(), Told: told.UnixNano()}
}

// serve begins to issue.
func (s *slots) serve(p *process, now lease.Moment) []lease.Request {
	s.settled = true
	p.issue(s.number)
	return p.sleep(now, s.ttl/3)
}

func (s *slots) woken(p *process, now lease.Moment) []lease.Request {
	if s.held == "" {
		return s.begin(p, now)
	}
	return p.get(s.held, func(r lease.Reply, now lease.Moment) []lease.Request {
		entry := r.Entry
		switch {
		case r.Outcome == lease.Unknown:
			return p.sleep(now, time.Second)
		case r.Outcome == lease.Absent || noted(entry).Owner != p.owner():
			return s.lost(p, now)
		}
		return p.ask(func(r lease.Reply, now lease.Moment) []lease.Request {
			switch {
			case r.Outcome != lease.Told:
				return p.sleep(now, time.Second)
			case noted(entry).Expires <= r.Time.UnixNano():
				return s.lost(p, now) // the store has dropped it
			}
			return p.put(s.held, entry.Version, s.note(p, r.Time, now), func(r lease.Reply, now lease.Moment) []lease.Request {
				switch {
				case r.Outcome == lease.Conflict:
					return s.lost(p, now)
				case r.Outcome != lease.Swapped:
					return p.sleep(now, time.Second)
				}
				return s.prolonged(p, now)
			})
		})
	})
}

// prolonged goes on with a hold that stands.
func (s *slots) prolonged(p *process, now lease.Moment) []lease.Request {
	if s.settled {
		return p.sleep(now, s.ttl/3)
	}
	if s.settle -= s.ttl / 3; s.settle > 0 {
		return p.sleep(now, min(s.settle, s.ttl/3))
	}
	return s.serve(p, now)
}

// lost handles a hold that is found to be another's, or free.
func (s *slots) lost(p *process, now lease.Moment) []lease.Request {
	switch {
	case s.heedful:
		p.generator, s.held = nil, ""
		return s.begin(p, now)
	case !s.settled:
		return s.serve(p, now)
	}
	return p.sleep(now, s.ttl/3)
}

// leave gives the number back.
func (s *slots) leave(p *process, now lease.Moment) []lease.Request {
	return p.giveBack(s.held, now, func(e store.Entry) []lease.Request {
		return p.put(s.held, e.Version, note{}, func(_ lease.Reply, now lease.Moment) []lease.Request { return p.end(now) })
	})
}
