package view

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/stored"
)

// clockAlarm is how far a clock may be off in milliseconds before that is a problem: claims refuse ten times as much.
const clockAlarm = float64(stored.ClockTolerance / 10 / time.Millisecond)

// severities are the severities of a [Problem], the worst first.
func severities() []string { return []string{"unsafe", "stopped", "soon"} }

// problems lists the problems that an operator should act on.
func (v *View) problems(statuses []front.Status, s State) []Problem {
	all, flags := []Problem{}, ""
	add := func(severity, about, anchor string, since time.Time, format string, args ...any) {
		all = append(all, Problem{severity, about, short(fmt.Sprintf(format, args...)), remedy(anchor, flags), anchor, since.UTC()})
	}
	for _, e := range v.config.Events.alarms() {
		add("unsafe", e.field("namespace"), e.Entry, e.Time, "Ids may have been given twice: %s.", strings.TrimSuffix(e.Text+": "+e.field("error"), ": "))
	}
	for i, status := range statuses {
		flags = v.config.Flags[Place{s.Generators[i].Store, s.Generators[i].Namespace}]
		standing(status, s.Generators[i], s.Taken, add)
	}
	for _, n := range s.Namespaces {
		flags = n.Flags
		pool(n, add)
	}
	if v.config.TLS != nil {
		if wrong := v.config.TLS(s.Taken); wrong != "" {
			add("soon", "tls", "certificate", time.Time{}, "%s.", wrong)
		}
	}
	slices.SortStableFunc(all, func(a, b Problem) int {
		return slices.Index(severities(), a.Severity) - slices.Index(severities(), b.Severity)
	})
	return all
}

// anchorOf is the runbook's entry for a problem. Its cause may be one with an entry of its own.
func anchorOf(p *front.Problem, why string, storeAway bool) string {
	switch {
	case strings.Contains(why, "an operator quarantined"), strings.Contains(why, "quarantined by its operator"):
		return "quarantined"
	case errors.Is(p.Cause, lease.ErrNoWorker):
		return "no-worker"
	case storeAway && p.Type == front.LeaseUnavailable:
		return front.StoreUnavailable.String()
	}
	return p.Type.String()
}

type adder = func(severity, about, anchor string, since time.Time, format string, args ...any)

// standing adds the problems of a generator. Standing by is not a problem, unless something is wrong: then it lacks a lease.
func standing(s front.Status, g Generator, now time.Time, add adder) {
	p, t := s.Problem, s.Trouble
	if p != nil && p.Type == front.Standby {
		lacks := *p
		lacks.Type, p = front.LeaseUnavailable, &lacks
	}
	var since time.Time
	if t != nil {
		since = t.Since
	}
	switch {
	case s.StandsBy:
	case p != nil:
		severity := "stopped"
		if p.Type == front.LeaseUnavailable && g.Left > 0 || p.Type == front.StoreUnavailable && g.Counter != nil && g.Counter.InHand != "0" {
			severity = "soon"
		}
		if p.Type == front.CounterChanged {
			severity = "unsafe" // other daemons may give numbers that are in use
		}
		why := p.Detail
		if p.Cause != nil {
			why = p.Cause.Error()
		}
		add(severity, g.Name, anchorOf(p, why, t != nil), since, "%s.", saidOnce(p.Type.Title(), cmp.Or(g.Trouble, why)))
	case t != nil && t.Until.After(now):
		add("soon", g.Name, "store-unavailable", since, "Ids go on for %s, and then stop: %s.", t.Until.Sub(now).Round(time.Second), t.Text)
	case t != nil:
		add("soon", g.Name, "store-unavailable", since, "Ids stop when those in hand are used up: %s.", t.Text)
	}
	if s.EndsSoon && (p == nil || p.Type != front.HorizonPassed && p.Type != front.NumbersUsedUp) {
		when := ""
		if c := g.Counter; c != nil {
			when = fmt.Sprintf("%s of %s numbers are left", c.Left, c.Limit)
		}
		if !g.Ends.IsZero() {
			when = "it gives no ids from " + g.Ends.Format(time.RFC3339) + " on"
		}
		add("soon", g.Name, "ends-soon", time.Time{}, "The generator ends soon: %s.", when)
	}
	if g.Offset != nil && math.Abs(*g.Offset) > clockAlarm && (p == nil || p.Type != front.ClockUnsafe) {
		add("soon", g.Name, "clock-off", time.Time{}, "This host's clock is %s. From %s on its claims are refused.", apart(*g.Offset), stored.ClockTolerance)
	}
}

// saidOnce joins a title and a reason, which may begin with it.
func saidOnce(title, why string) string {
	why = strings.TrimPrefix(why, "snowfence: ")
	if n := len(title); len(why) >= n && strings.EqualFold(why[:n], title) {
		return title + why[n:]
	}
	return title + ": " + why
}

// pool adds the problems of a namespace.
func pool(n Namespace, add adder) {
	found := func(anchor, format string, args ...any) { add("soon", n.Name, anchor, time.Time{}, format, args...) }
	if n.Error != "" {
		found("store-unavailable", "The namespace can't be read: %s.", n.Error)
	}
	capacity, _ := strconv.ParseInt(n.Capacity, 10, 64) // empty before the first read
	if free := n.Counts[string(roster.Free)]; capacity > 1 && free*10 < capacity {
		found("pool-full", "%d of %d worker ids are free.", free, capacity)
	}
	if bad := n.Counts[string(roster.Unreadable)] + n.Counts[string(roster.Foreign)]; bad > 0 {
		var which []string
		for _, w := range n.Rest {
			if w.State == string(roster.Unreadable) || w.State == string(roster.Foreign) {
				which = append(which, strconv.FormatInt(w.Number, 10))
			}
		}
		found("unreadable", "Registers that can't be claimed, since they are damaged or of another life of the namespace: %d, among them worker %s.",
			bad, strings.Join(which[:min(len(which), 10)], ", "))
	}
	var silent []string
	var worst float64
	var where Worker
	for _, w := range n.Holders {
		if w.Silent && len(silent) < 10 {
			silent = append(silent, strconv.FormatInt(w.Number, 10))
		}
		if w.Offset != nil && math.Abs(*w.Offset)-w.Error > max(clockAlarm, math.Abs(worst)) {
			worst, where = *w.Offset, w
		}
	}
	if worst != 0 {
		found("clock-off", "The clock of worker %d, process %d on host %q, is %s. From %s on its claims are refused.",
			where.Number, where.PID, where.Host, apart(worst), stored.ClockTolerance)
	}
	if n.Silent > 0 {
		found("silent-holder", "Holders that missed the time to extend: %d, among them worker %s.", n.Silent, strings.Join(silent, ", "))
	}
	var gone []string
	for _, w := range n.Rest {
		if w.Ended && len(gone) < 3 {
			gone = append(gone, fmt.Sprintf("worker %d (process %d on host %q, at %s)", w.Number, w.PID, w.Host, w.Until.Format(time.RFC3339)))
		}
	}
	if n.Ended > 0 {
		found("silent-holder", "Holders that ended within the last hour, and did not give their worker ids back: %d, the latest %s.", n.Ended, strings.Join(gone, ", "))
	}
}

// apart describes how far a clock is off.
func apart(milliseconds float64) string {
	off, way := time.Duration(milliseconds*float64(time.Millisecond)).Round(time.Second), "ahead"
	if off < 0 {
		off, way = -off, "behind"
	}
	return off.String() + " " + way
}

// field returns the text of an event's field, or nothing.
func (x Event) field(name string) string {
	for _, f := range x.Fields {
		if f[0] == name {
			return f[1]
		}
	}
	return ""
}
