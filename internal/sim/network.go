package sim

import (
	"errors"
	"math/rand/v2"
	"time"

	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/store"
)

// errNoAnswer is the unknown outcome of a request that is given up.
var errNoAnswer = errors.New("no answer in time")

// call sends a request to the node's store. It may be lost or late, and so may its answer. A request
// that takes too long is given up, and may still take effect. An answer to a process that is gone is
// void.
func (n *node) call(call lease.Call) {
	n.sent = call.ID
	n.send(call, n.patience(), func() bool { return n.answered < call.ID }, func(reply lease.Reply) { n.hear(call.ID, reply) })
}

// send sends a request to the node's store. take gets the answer if open still returns true.
func (n *node) send(call lease.Call, patience time.Duration, open func() bool, take func(lease.Reply)) {
	w := n.w
	w.tally.Counts[Requests]++
	way := n.way(call.ID)
	process := n.process
	if !way.lost {
		w.agenda.After(way.there, func() {
			reply := n.server.answer(call)
			if way.damaged {
				reply = n.server.fails(call, store.ErrDamaged, reply.Entries[:len(reply.Entries)/2])
			}
			if !way.silent {
				n.soonAs(process, way.back, func() {
					if open() {
						take(reply)
					}
				})
			}
		})
	}
	n.soon(n.clock.lasting(patience), func() {
		if open() {
			w.tally.Counts[Unknowns]++
			take(n.server.fails(call, errNoAnswer, nil))
		}
	})
}

// patience is how long the next answer is awaited.
func (n *node) patience() time.Duration {
	if n.holder == nil {
		return n.w.plan.timeout()
	}
	return n.holder.state.Patience(n.clock.Monotonic())
}

// way is the way of a request to the store and back.
type way struct {
	there, back           time.Duration
	lost, silent, damaged bool
}

// way draws the way of a request, with one fault of the weather at most.
func (n *node) way(id uint64) way {
	w, p, bad := n.w, n.w.plan, n.w.plan.Weather
	x := way{there: upTo(n.net, p.latency()), back: upTo(n.net, p.latency())}
	x.lost = w.agenda.Now() < n.cut || w.agenda.Now() < n.server.away
	if w.quiet || bad == (Weather{}) {
		return x
	}
	met, dice := Kind(0), n.net.IntN(100)
	for i, percent := range []int{bad.Lost, bad.Silent, bad.Late, bad.Slow, bad.Damaged} {
		if dice -= percent; dice < 0 {
			met = []Kind{Lost, Silent, Late, Slow, Damaged}[i]
			break
		}
	}
	counts := !x.lost // the weather does not count for a lost request
	switch met {
	case Lost:
		x.lost = true
	case Silent:
		x.silent = true
	case Late:
		x.there = upTo(n.net, 2*p.Window)
		if later := upTo(n.net, 20*p.Window); chance(n.net, 10) && w.agenda.Now()+later < p.Length {
			x.there = later
		}
		w.latest = max(w.latest, w.agenda.Now()+x.there)
	case Slow:
		x.back = upTo(n.net, 2*p.timeout())
	case Damaged:
		x.damaged = true
	default:
		return x
	}
	if counts {
		w.struck(met, n.index, "request %d of %s, which takes %s there and %s back", id, n.host, x.there, x.back)
	}
	return x
}

// hear takes the first answer to a request, be it the store's or the timeout's.
func (n *node) hear(id uint64, reply lease.Reply) {
	if n.answered < id {
		n.answered = id
		n.step(reply)
	}
}

// upTo draws a duration from 0 to d.
func upTo(rng *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(rng.Int64N(int64(max(0, d)) + 1))
}

// spread draws a duration from -d to d.
func spread(rng *rand.Rand, d time.Duration) time.Duration { return upTo(rng, 2*d) - d }

// chance is true that many times of a hundred.
func chance(rng *rand.Rand, percent int) bool { return rng.IntN(100) < percent }
