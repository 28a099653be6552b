package main

import (
	"fmt"
	"time"

	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/store"
)

// redis is SET NX with a time to live, 30 s and prolonged every 10 s by a script that compares
// the owner, as Redisson's locks have it by default. The lowest free number is taken, and a loop beside the
// generator prolongs the hold. A process that finds its hold lost takes another number. Nothing is checked
// when an id is minted.
//
// It is more careful than many of its kind. A hold ends by the store's clock alone. Taking
// and prolonging are guarded, so there can't be two owners of one hold.
type redis struct {
	held string // the key; empty for none
}

const (
	redisPrefix = "redis/worker/"
	ttl         = 30 * time.Second
)

func (s *redis) begin(p *process, _ lease.Moment) []lease.Request {
	return p.list(redisPrefix, func(r lease.Reply, now lease.Moment) []lease.Request {
		if r.Outcome != lease.Listed {
			return p.sleep(now, restart)
		}
		held := r.Entries
		return p.ask(func(r lease.Reply, now lease.Moment) []lease.Request {
			if r.Outcome != lease.Told {
				return p.sleep(now, restart)
			}
			return s.take(p, 0, held, r.Time, now)
		})
	})
}

// take takes the lowest number from there on whose hold is over.
func (s *redis) take(p *process, from int64, held []store.Entry, told time.Time, now lease.Moment) []lease.Request {
	before := byKey(held)
	for number := from; number < p.numbers(1024); number++ {
		key := fmt.Sprintf("%s%05d", redisPrefix, number)
		e, was := before[key]
		if was && noted(e).Expires > told.UnixNano() {
			continue
		}
		return p.put(key, e.Version, s.note(p, told), func(r lease.Reply, now lease.Moment) []lease.Request {
			switch {
			case r.Outcome == lease.Conflict: // somebody was faster
				return s.take(p, number+1, held, told, now)
			case r.Outcome != lease.Swapped:
				return s.begin(p, now)
			}
			s.held = key
			p.issue(number)
			return p.sleep(now, ttl/3)
		})
	}
	return p.sleep(now, restart)
}

func (*redis) note(p *process, told time.Time) note {
	return note{Owner: p.owner(), Expires: told.Add(ttl).UnixNano()}
}

func (s *redis) woken(p *process, now lease.Moment) []lease.Request {
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
			return p.put(s.held, entry.Version, s.note(p, r.Time), func(r lease.Reply, now lease.Moment) []lease.Request {
				switch {
				case r.Outcome == lease.Conflict:
					return s.lost(p, now)
				case r.Outcome != lease.Swapped:
					return p.sleep(now, time.Second)
				}
				return p.sleep(now, ttl/3)
			})
		})
	})
}

// lost handles a hold that is found to be another's, or free.
func (s *redis) lost(p *process, now lease.Moment) []lease.Request {
	p.generator, s.held = nil, ""
	return s.begin(p, now)
}

// leave gives the number back, unless it is another's.
func (s *redis) leave(p *process, now lease.Moment) []lease.Request {
	if s.held == "" {
		return p.end(now)
	}
	return p.get(s.held, func(r lease.Reply, now lease.Moment) []lease.Request {
		if r.Outcome != lease.Found || noted(r.Entry).Owner != p.owner() {
			return p.end(now)
		}
		return p.put(s.held, r.Entry.Version, note{}, func(_ lease.Reply, now lease.Moment) []lease.Request { return p.end(now) })
	})
}
