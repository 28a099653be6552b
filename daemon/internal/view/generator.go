package view

import (
	"fmt"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/kind"
)

// generator shows one source of ids.
func (v *View) generator(s front.Status) Generator {
	set := v.config.Generators[s.Name]
	g := Generator{
		Name: s.Name, Kind: s.Kind, Namespace: s.Namespace, Ready: s.Problem == nil, StandsBy: s.StandsBy, IDs: count(s.IDs), Last: newest(s),
		Ends: s.Ends.UTC(), EndsSoon: s.EndsSoon, Waits: "0", Losses: "0", Extensions: "0", Refused: []Refusal{},
	}
	if len(set.Stores) > 0 {
		g.Store = set.Stores[0]
	}
	if s.Form != 0 {
		g.Form = s.Form.String()
	}
	if s.Problem != nil {
		g.Problem = s.Problem.Type.String()
	}
	if s.Trouble != nil {
		g.Trouble = short(s.Trouble.Text)
	}
	for t := range front.Type(front.Types) {
		if n := s.Problems[t]; n > 0 {
			g.Refused = append(g.Refused, Refusal{t.String(), count(n)})
		}
	}
	if l := s.Lease; l != nil {
		g.Layout, g.Rollback = l.Layout.String(), l.Policy.MaxRollback.Milliseconds()
		g.Left, g.Window = l.Left.Milliseconds(), l.Window.Milliseconds()
		g.Waits, g.Losses, g.Extensions = count(l.Generator.Waits), count(l.Losses), count(l.Extensions)
		if l.Term > 0 && l.Left > 0 { // else the worker id may be another's by now
			g.Worker, g.Until = &l.Worker, l.Layout.TimeOf(l.Until).UTC()
		}
		if l.ClockCompared {
			g.Offset = milliseconds(l.ClockOffset)
		}
	}
	if s.Counter != nil {
		g.Counter = counter(s.Counter, set)
	}
	return g
}

// counter shows where a counter is.
func counter(c *kind.Counter, set config.Generator) *Counter {
	var held int64
	for _, r := range c.Held {
		held += r.Count
	}
	shown := &Counter{
		Name: c.Name, Next: count(c.Next), Limit: count(c.Limit), Left: count(c.Left), InHand: count(held), Waiting: c.Waiting, RunsOut: c.RunsOut.UTC(),
	}
	switch guard, column := set.Settings["guard"], set.Settings["guard-column"]; {
	case column != "":
		shown.Guard = fmt.Sprintf("the greatest %s in %s", column, guard)
	case guard != "":
		shown.Guard = "a mark in " + guard
	}
	return shown
}

// newest returns an id that is at least as new as every id so far. Of a worker id's ids it is the last that the reserved ticks
// can have; of a counter's numbers it is the last that is reserved.
func newest(s front.Status) string {
	switch l := s.Lease; {
	case l != nil && l.Generator.Reserved > l.Generator.Floor:
		p := snowfence.Parts{Tick: l.Generator.Reserved - 1, Sequence: l.Layout.Sequences() - 1, Random: 1<<l.Layout.Bits(snowfence.Random) - 1}
		p.Datacenter, p.Worker, _ = l.Layout.SplitWorker(l.Worker) // it was claimed, so it fits
		if !l.Layout.Wide {
			if id, err := l.Layout.Compose(p); err == nil {
				return id.String()
			}
		} else if id, err := l.Layout.ComposeWide(p); err == nil {
			return id.String()
		}
	case s.Counter != nil && s.Form == kind.Number && s.Counter.Limit > 0 && s.IDs > 0:
		return count(s.Counter.Next - max(s.Counter.Increment, 1))
	}
	return ""
}

// count is a number that may pass 2⁵³, as JSON has it.
func count[N int64 | uint64](n N) string { return fmt.Sprint(n) }
