package main

import (
	"fmt"
	"strings"
	"time"

	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/store"
)

// recycle is the pool of a fork of Leaf, whose numbers are used again. A number in use is a
// node in which its holder writes its clock every 3 s. Every 2 min each process frees the numbers whose
// clock is an hour behind its own. A process that could not write for an hour stops.
//
// A number is taken out of the free ones first, and then put among the used ones. In the fork
// two starters can take the same one; the guard here leaves that out of the tables.
type recycle struct {
	held   string
	number int64
	wrote  time.Duration // when it could last, on the monotonic clock
	looked time.Duration // when it last looked for silent ones
}

const (
	inUse     = "recycle/inuse/"
	notInUse  = "recycle/notuse/"
	heartbeat = 3 * time.Second
	scan      = 2 * time.Minute
	silence   = time.Hour
)

func (c *recycle) begin(p *process, _ lease.Moment) []lease.Request {
	return p.list(notInUse, func(r lease.Reply, now lease.Moment) []lease.Request {
		if r.Outcome != lease.Listed {
			return p.sleep(now, restart)
		}
		before := byKey(r.Entries)
		for number := range p.numbers(1024) {
			key := fmt.Sprintf("%s%05d", notInUse, number)
			if e, was := before[key]; !was || !noted(e).Gone {
				return c.take(p, key, e.Version, number)
			}
		}
		return p.sleep(now, restart)
	})
}

// take takes the number out of the free ones, and puts it among the used ones.
func (c *recycle) take(p *process, free string, prev store.Version, number int64) []lease.Request {
	return p.put(free, prev, note{Gone: true}, func(r lease.Reply, now lease.Moment) []lease.Request {
		if r.Outcome != lease.Swapped {
			return c.begin(p, now)
		}
		key := fmt.Sprintf("%s%05d", inUse, number)
		return p.get(key, func(r lease.Reply, now lease.Moment) []lease.Request {
			return p.put(key, r.Entry.Version, c.beat(p, number, now), func(r lease.Reply, now lease.Moment) []lease.Request {
				if r.Outcome != lease.Swapped {
					return p.sleep(now, restart) // the number is lost
				}
				c.held, c.number, c.wrote, c.looked = key, number, now.Monotonic, now.Monotonic
				p.issue(number)
				return p.sleep(now, heartbeat)
			})
		})
	})
}

// beat is a holder's write.
func (*recycle) beat(p *process, number int64, now lease.Moment) note {
	return note{Owner: p.owner(), Number: number, Wall: now.Wall.UnixNano()}
}

func (c *recycle) woken(p *process, now lease.Moment) []lease.Request {
	if c.held == "" {
		return c.begin(p, now)
	}
	return p.get(c.held, func(r lease.Reply, now lease.Moment) []lease.Request {
		mine := c.beat(p, c.number, now)
		if is := noted(r.Entry); r.Outcome != lease.Found || is.Gone || is.Owner != mine.Owner {
			return c.silent(p, now)
		}
		return p.put(c.held, r.Entry.Version, mine, func(r lease.Reply, now lease.Moment) []lease.Request {
			if r.Outcome != lease.Swapped {
				return c.silent(p, now)
			}
			c.wrote = now.Monotonic
			return c.look(p, now)
		})
	})
}

// silent handles a clock that could not be written.
func (c *recycle) silent(p *process, now lease.Moment) []lease.Request {
	if now.Monotonic-c.wrote >= silence {
		p.generator = nil
		return nil
	}
	return c.look(p, now)
}

// look frees the numbers of silent holders.
func (c *recycle) look(p *process, now lease.Moment) []lease.Request {
	if now.Monotonic-c.looked < scan {
		return p.sleep(now, heartbeat)
	}
	c.looked = now.Monotonic
	return p.list(inUse, func(r lease.Reply, now lease.Moment) []lease.Request {
		return c.free(p, r.Entries, now)
	})
}

func (c *recycle) free(p *process, entries []store.Entry, now lease.Moment) []lease.Request {
	for i, e := range entries {
		if n := noted(e); n.Gone || time.Duration(now.Wall.UnixNano()-n.Wall) < silence {
			continue
		}
		return c.release(p, e, func(now lease.Moment) []lease.Request { return c.free(p, entries[i+1:], now) })
	}
	return p.sleep(now, heartbeat)
}

// release takes a number out of the used ones, and puts it among the free ones.
func (*recycle) release(p *process, used store.Entry, then func(lease.Moment) []lease.Request) []lease.Request {
	return p.put(used.Key, used.Version, note{Gone: true}, func(r lease.Reply, now lease.Moment) []lease.Request {
		if r.Outcome != lease.Swapped {
			return then(now)
		}
		key := notInUse + strings.TrimPrefix(used.Key, inUse)
		return p.get(key, func(r lease.Reply, _ lease.Moment) []lease.Request {
			return p.put(key, r.Entry.Version, note{}, func(_ lease.Reply, now lease.Moment) []lease.Request { return then(now) })
		})
	})
}

// leave frees the number.
func (c *recycle) leave(p *process, now lease.Moment) []lease.Request {
	return p.giveBack(c.held, now, func(e store.Entry) []lease.Request { return c.release(p, e, p.end) })
}
