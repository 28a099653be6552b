package sim

import (
	"fmt"

	"snowfence.example/snowfence/internal/lease"
)

// describe writes an event or a request for people, with values as the store has them.
func describe(what any) string {
	switch x := what.(type) {
	case lease.Call:
		return fmt.Sprintf("call %d, verb %d of %q after %.8s: %s", x.ID, x.Verb, x.Key, x.Prev, x.Value)
	case lease.Reply:
		return fmt.Sprintf("reply %d, outcome %d: %q is %.8s: %s; version %.8s, %d listed, time %s, %v",
			x.ID, x.Outcome, x.Entry.Key, x.Entry.Version, x.Entry.Value, x.Version, len(x.Entries), x.Time, x.Err)
	case lease.Keep:
		return fmt.Sprintf("page %d of worker %d: used %d, usable %d", x.ID, x.Page.Worker, x.Page.Used, x.Page.Usable)
	case lease.Started:
		return fmt.Sprintf("started, with a page: %t", x.Page != nil)
	default:
		return fmt.Sprintf("%T %+v", what, what)
	}
}
