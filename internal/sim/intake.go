package sim

import (
	"reflect"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
)

// intake judges how the driver takes events to the state.
type intake struct {
	given  []lease.Event // events that come once, until the state takes them
	random [32]byte      // the random bits of the last step
	steps  int           // since the driver was given an event

	generator *snowfence.Generator // before the event
	lost      bool                 // its clock was lost when it was looked at last
	untold    int                  // how often it was lost, less how often the state was notified

	counted time.Duration // since when it is counted, on the monotonic clock
	woken   int           // how often the driver was woken
}

// maxWoken is how often a driver may be woken in a beat, or in a second if that is shorter.
const maxWoken = 50

// once reports whether an event comes once. Other events give the time, or are the driver's own.
func once(e lease.Event) bool {
	switch e.(type) {
	case lease.Started, lease.Reply, lease.ReleaseAsked, lease.Written:
		return true
	}
	return false
}

// begin takes an event that the driver is given.
func (t *intake) begin(h *holder, e lease.Event) {
	t.steps = 0
	if once(e) {
		t.given = append(t.given, e)
	}
	if g := h.driver.Generator(); g != t.generator {
		t.generator, t.lost, t.untold = g, false, 0
	}
}

// take takes an event that the driver gives to the state.
func (t *intake) take(h *holder, e lease.Event, now lease.Moment) {
	w := h.site.world
	switch e.(type) {
	case lease.Looked:
		return
	case lease.ClockLost:
		t.untold--
	}
	if once(e) {
		if len(t.given) == 0 || !reflect.DeepEqual(t.given[0], e) {
			w.breaks("events", "%s takes %s, and %d others before it", h.site.Host, describe(e), len(t.given))
		} else {
			t.given = t.given[1:]
		}
	}
	if now.Random == t.random {
		w.breaks("events", "%s takes %s with the random bits of the step before", h.site.Host, describe(e))
	}
	t.random = now.Random
	t.steps++
}

// end checks how the driver handled an event.
func (t *intake) end(h *holder, e lease.Event) {
	if h.stalled != nil && once(e) {
		return
	}
	w, g, fault := h.site.world, h.driver.Generator(), ""
	_, woken := e.(lease.Woken)
	if g == t.generator && g != nil && !once(e) {
		lost := g.Status().ClockLost
		if lost && !t.lost {
			t.untold++
		}
		t.lost = lost
	}
	if now := h.site.Clock.Monotonic(); now-t.counted > min(time.Second, h.site.Plan.beat()) {
		t.counted, t.woken = now, 0
	}
	if woken {
		t.woken++
	}
	switch {
	case h.stalled != nil:
		return
	case len(t.given) > 0:
		fault = "did not take " + describe(t.given[0])
		t.given = nil
	case g == t.generator && g != nil && !once(e) && t.untold != 0:
		fault = "does not report once that its clock is lost"
		t.untold = 0
	case g != nil && woken && g.Status().Revoked != nil:
		fault = "keeps a generator that issues nothing any more"
	case t.woken > maxWoken:
		fault = "is woken all the time"
	}
	if fault != "" {
		w.breaks("events", "%s, process %d, %s after %s", h.site.Host, h.site.Process, fault, describe(e))
	}
}
