package main

import (
	"fmt"
	"time"

	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/sim"
)

// leaf is Meituan's Leaf 1.0. Each address gets a number, in turn, in a node that stays, and
// every 3 s the process writes its clock there. A start is refused while the clock is behind the
// written one. For a start without ZooKeeper a file on the machine has the number too, and no time.
// More than 1,024 numbers are refused.
type leaf struct {
	file     map[int]int64 // the numbers in the machines' files, by node
	uploaded int64         // the last written clock
	served   bool
}

// upload is how often the clock is written.
const upload = 3 * time.Second

const leafCounter = "leaf/next"

func leafs(f Fleet) sim.Program {
	file := make(map[int]int64) // outlives the processes of a run, as files do
	return naive("leaf", func() routine { return &leaf{file: file} })(f)
}

func (l *leaf) key(p *process) string { return fmt.Sprintf("leaf/forever/%s-8080", p.machine.IP) }

func (l *leaf) begin(p *process, _ lease.Moment) []lease.Request {
	return p.get(l.key(p), func(r lease.Reply, now lease.Moment) []lease.Request {
		switch n := noted(r.Entry); {
		case r.Outcome == lease.Unknown:
			return l.without(p, now)
		case r.Outcome == lease.Absent:
			return l.enrol(p)
		case n.Wall > now.Wall.UnixNano():
			return p.sleep(now, restart)
		default:
			return l.serve(p, n.Number, now)
		}
	})
}

// enrol takes the next number.
func (l *leaf) enrol(p *process) []lease.Request {
	return p.get(leafCounter, func(r lease.Reply, now lease.Moment) []lease.Request {
		if r.Outcome == lease.Unknown {
			return l.without(p, now)
		}
		number := int64(0)
		if r.Outcome == lease.Found {
			number = noted(r.Entry).Number
		}
		if number >= p.numbers(1024) {
			return p.sleep(now, restart)
		}
		return p.put(leafCounter, r.Entry.Version, note{Number: number + 1}, func(r lease.Reply, now lease.Moment) []lease.Request {
			switch {
			case r.Outcome == lease.Conflict:
				return l.enrol(p)
			case r.Outcome != lease.Swapped:
				return l.without(p, now)
			}
			return p.put(l.key(p), "", note{Number: number, Wall: now.Wall.UnixNano()}, func(r lease.Reply, now lease.Moment) []lease.Request {
				if r.Outcome != lease.Swapped {
					return l.without(p, now)
				}
				return l.serve(p, number, now)
			})
		})
	})
}

// without starts from the file, be it that of the disk image.
func (l *leaf) without(p *process, now lease.Moment) []lease.Request {
	number, ok := l.file[p.site.Node]
	if !ok {
		number = p.machine.File
	}
	if number < 0 {
		return p.sleep(now, restart)
	}
	return l.serve(p, number, now)
}

func (l *leaf) serve(p *process, number int64, now lease.Moment) []lease.Request {
	l.file[p.site.Node], l.served = number, true
	p.issue(number)
	return p.sleep(now, time.Second) // the first one comes sooner
}

// woken uploads the clock. It always rises there.
func (l *leaf) woken(p *process, now lease.Moment) []lease.Request {
	if !l.served {
		return l.begin(p, now)
	}
	if now.Wall.UnixNano() < l.uploaded {
		return p.sleep(now, upload)
	}
	return p.get(l.key(p), func(r lease.Reply, now lease.Moment) []lease.Request {
		if r.Outcome != lease.Found {
			return p.sleep(now, upload)
		}
		wall := now.Wall.UnixNano()
		return p.put(l.key(p), r.Entry.Version, note{Number: noted(r.Entry).Number, Wall: wall}, func(r lease.Reply, now lease.Moment) []lease.Request {
			if r.Outcome == lease.Swapped {
				l.uploaded = wall
			}
			return p.sleep(now, upload)
		})
	})
}

func (*leaf) leave(p *process, now lease.Moment) []lease.Request { return p.end(now) }
