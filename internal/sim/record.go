package sim

import (
	"bytes"
	"fmt"
	"path"

	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/sim/trace"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// recordAt records a step of a register: a write and what became of it, or the version that it shows after a loss.
func (s *server) recordAt(kind trace.Kind, key string, guard, version store.Version, r stored.Register) {
	if s.w.steps != nil && isRegister(key) {
		step := trace.Step{Kind: kind, Place: "the store", Register: s.register(key), Write: r.Write, Until: int64(r.Until)}
		step.At, step.Guard, step.Version = s.w.agenda.Now(), string(guard), string(version)
		s.w.steps(step)
	}
}

// register is the name of a register in traces.
func (s *server) register(key string) string {
	return fmt.Sprintf("worker %s of store %d", path.Base(key), s.index)
}

// record records a step of the present process.
func (n *node) record(s trace.Step) {
	if n.w.steps != nil {
		s.At, s.Place = n.w.agenda.Now(), fmt.Sprintf("%s process %d", n.host, n.process)
		s.Clock += n.clock.Monotonic()
		n.w.steps(s)
	}
}

// recorder is what a holder sent last.
type recorder struct {
	call  lease.Call // to the store
	write lease.Call // the swap of a register whose outcome may be open; zero for none
}

// record records what a holder does for an event.
func (h *holder) record(e lease.Event, requests []lease.Request) {
	n := h.site.node
	switch e := e.(type) {
	case lease.Started:
		if e.Page != nil && h.state.View().Inherited {
			n.record(h.resumption(*e.Page))
		}
	case lease.Reply:
		if e.ID == h.sent.call.ID && h.sent.call.Key == h.sent.write.Key && h.sent.write.Value != nil {
			n.record(h.outcome(e))
		}
	case lease.ReleaseAsked:
		n.record(trace.Step{Kind: trace.Asked})
	}
	for _, request := range requests {
		switch r := request.(type) {
		case lease.Call:
			h.sent.call = r
			if register, ok := asRegister(r); ok {
				n.record(h.sending(r, register))
			}
		case lease.Start:
			n.record(trace.Step{Kind: trace.Use, Floor: int64(r.Floor), Until: int64(r.Until)})
		case lease.Extend:
			n.record(trace.Step{Kind: trace.Use, Until: int64(r.Until)})
		case lease.Report:
			if r.What == lease.Lost || r.What == lease.GaveUp || r.What == lease.Broken {
				n.record(trace.Step{Kind: trace.Forget, Note: fmt.Sprintf("gives up: %v", r.Err)})
			}
		}
	}
}

// sending is the step that sends a write.
func (h *holder) sending(call lease.Call, r stored.Register) trace.Step {
	kind := trace.Claim
	switch r.Holder {
	case "":
		kind = trace.Release
	case h.state.View().Register.Holder:
		kind = trace.Extend
	}
	h.sent.write = call
	return trace.Step{
		Kind: kind, Register: h.site.node.server.register(call.Key), Write: r.Write, Guard: string(call.Prev),
		Floor: int64(r.Floor), Until: int64(r.Until),
	}
}

// outcome is the step that an answer to a write makes, or to a read after it.
func (h *holder) outcome(e lease.Reply) trace.Step {
	register, _ := asRegister(h.sent.write)
	s := trace.Step{Kind: trace.Remark, Write: register.Write}
	switch {
	case e.Outcome == lease.Swapped:
		s.Kind, s.Version = trace.Acknowledged, string(e.Version)
	case bytes.Equal(e.Entry.Value, h.sent.write.Value):
		s.Kind, s.Version = trace.Read, string(e.Entry.Version)
	case e.Outcome == lease.Unknown:
		s.Note = "has no answer"
	case e.Outcome == lease.Conflict:
		s.Note = "receives a conflict"
	default:
		s.Note = "reads the register: its write is not there"
	}
	if s.Note == "" {
		h.sent = recorder{}
	}
	return s
}

// resumption is the step with which a process goes on with a page.
func (h *holder) resumption(p stored.Page) trace.Step {
	key := stored.RegisterKey(stored.DefaultNamespace, h.site.Layout, p.Worker)
	s := trace.Step{
		Kind: trace.Resume, Register: h.site.node.server.register(key), Version: string(p.Version),
		Floor: int64(p.Used), Until: int64(p.Usable), Clock: -p.Age,
	}
	h.sent.write = lease.Call{Verb: lease.Swap, Key: key, Prev: p.Version, Value: p.Pending}
	if r, ok := asRegister(h.sent.write); ok {
		s.Write, s.Bound = r.Write, int64(r.Until)
	}
	return s
}
