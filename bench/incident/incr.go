package main

import "snowfence.example/snowfence/internal/lease"

// incr is a counter: each process that starts adds one, and takes the rest of the
// division by the number of worker ids, as Hyperf's Redis generator does. Nobody
// gives a number back, and after so many starts it is used again whoever still
// has it.
type incr struct{}

const incrCounter = "incr/worker"

func (c incr) begin(p *process, _ lease.Moment) []lease.Request {
	return p.get(incrCounter, func(r lease.Reply, now lease.Moment) []lease.Request {
		if r.Outcome == lease.Unknown {
			return p.sleep(now, restart)
		}
		count := int64(1)
		if r.Outcome == lease.Found {
			count += noted(r.Entry).Number
		}
		return p.put(incrCounter, r.Entry.Version, note{Number: count}, func(r lease.Reply, now lease.Moment) []lease.Request {
			if r.Outcome != lease.Swapped {
				return c.begin(p, now)
			}
			p.issue(count % p.numbers(1024))
			return nil
		})
	})
}

func (c incr) woken(p *process, now lease.Moment) []lease.Request { return c.begin(p, now) }

func (incr) leave(p *process, now lease.Moment) []lease.Request { return p.end(now) }
