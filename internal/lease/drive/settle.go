package drive

import "snowfence.example/snowfence/internal/lease"

// Settle sends a write until its outcome is known, by [lease.Write.Settle], for callers that
// wait. It returns [lease.Landed] or [lease.Missed], and the answer that showed it. Or it
// returns another outlook with the last answer, after again has returned an error. Before
// each call but the first it calls again, which may pause.
//
// A write that is given up may still take effect. So its caller must use nothing of it.
func Settle(w lease.Write, call func(lease.Call) lease.Reply, again func(lease.Outlook, lease.Reply) error) (lease.Outlook, lease.Reply) {
	next := w.Swap()
	for {
		reply := call(next)
		outlook := w.Settle(reply)
		switch outlook {
		case lease.Landed, lease.Missed:
			return outlook, reply
		case lease.Unsent:
			next = w.Swap()
		default:
			next = lease.Call{Verb: lease.Get, Key: w.Key}
		}
		if again(outlook, reply) != nil {
			return outlook, reply
		}
	}
}
