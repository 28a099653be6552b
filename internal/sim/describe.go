package sim

import (
	"fmt"

	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/stored"
)

// describe writes an event or a request for people.
func describe(what any) string {
	switch x := what.(type) {
	case lease.Started:
		if x.Page == nil {
			return "started"
		}
		return fmt.Sprintf("started with a page of worker %d: used %d, usable %d", x.Page.Worker, x.Page.Used, x.Page.Usable)
	case lease.Reply:
		return describeReply(x)
	case lease.Call:
		return describeCall(x)
	case lease.Keep:
		return fmt.Sprintf("page %d: used %d, usable %d", x.ID, x.Page.Used, x.Page.Usable)
	case lease.Discard:
		return fmt.Sprintf("no page (%d)", x.ID)
	case lease.Report:
		return fmt.Sprintf("report %d: %v", x.What, x.Err)
	default:
		return fmt.Sprintf("%T %+v", what, what)
	}
}

func describeCall(c lease.Call) string {
	switch c.Verb {
	case lease.Get:
		return "get " + c.Key
	case lease.Swap:
		return fmt.Sprintf("swap %s after %.8s: %s", c.Key, c.Prev, describeValue(c.Value))
	case lease.List:
		return "list " + c.Key
	default:
		return "the store's time"
	}
}

func describeReply(r lease.Reply) string {
	switch r.Outcome {
	case lease.Found:
		return fmt.Sprintf("hears %s is %.8s: %s", r.Entry.Key, r.Entry.Version, describeValue(r.Entry.Value))
	case lease.Absent:
		return "hears that there is none"
	case lease.Swapped:
		return fmt.Sprintf("hears that it is %.8s", r.Version)
	case lease.Conflict:
		return "hears of a conflict"
	case lease.Listed:
		return fmt.Sprintf("hears of %d registers", len(r.Entries))
	case lease.Told:
		return fmt.Sprintf("hears that it is %s", r.Time)
	default:
		return fmt.Sprintf("hears nothing: %v", r.Err)
	}
}

func describeValue(value []byte) string {
	if r, err := stored.DecodeRegister(value); err == nil {
		return fmt.Sprintf("term %d, [%d, %d), holder %.8s", r.Term, r.Floor, r.Until, r.Holder)
	}
	if n, err := stored.DecodeNamespace(value); err == nil {
		return fmt.Sprintf("namespace %.8s of %s", n.Incarnation, n.Layout)
	}
	return fmt.Sprintf("%.80q", string(value))
}
