package sim

import (
	"errors"
	"slices"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
)

// supply judges a holder's reports of outages. It looks at the generator itself after each step.
type supply struct {
	begun    bool          // there was a term
	dry      bool          // ids can't be issued
	since    time.Duration // since when, on the monotonic clock
	reported bool          // and the holder reported it
	fresh    bool          // reported in this step
	outages  uint64
	losses   uint64
	windows  uint64  // outages that began with the end of a window
	troubles []error // the errors reported since the last term or claim ended
	answer   error   // the store's last answer, if it was an error
}

// able reports whether a call for an id can succeed.
func (h *holder) able() bool { return h.driver.Generator() != nil && h.refusal() == nil }

// errOutside is the reason of a holder whose wall clock shows a time outside its layout.
var errOutside = errors.New("the wall clock is outside the layout")

// refusal returns why the generator issues nothing; nil if it does.
func (h *holder) refusal() error {
	status, layout := snowfence.GeneratorStatus{}, h.site.Layout
	if g := h.driver.Generator(); g != nil {
		status = g.Status()
	}
	switch now := layout.TickAt(h.site.Clock.Wall()); {
	case status.Revoked != nil:
		return status.Revoked
	case now < 0 || now >= layout.HorizonTick():
		return errOutside
	case status.ClockLost:
		return snowfence.ErrClockBehind
	case status.Left == 0:
		return snowfence.ErrWindowEnded
	}
	return nil
}

// explained reports whether the holder gives its true reason. Without a term that is an error reported
// since the last term or claim ended. With a term it is the generator's refusal and, if the window
// ended, the error that kept it from an extension.
func (s *supply) explained(h *holder, view lease.View) bool {
	reason := view.Outage.Reason
	if !view.Holding {
		return slices.ContainsFunc(s.troubles, func(trouble error) bool { return errors.Is(reason, trouble) })
	}
	var outside *lease.TimeError
	switch refusal := h.refusal(); {
	case errors.Is(refusal, errOutside):
		return errors.As(reason, &outside)
	case !errors.Is(reason, refusal):
		return false
	case !errors.Is(refusal, snowfence.ErrWindowEnded), view.Kept > 0 && view.Kept < view.Usable:
		return true
	case h.stalled != nil:
		return errors.Is(reason, h.stalled)
	}
	return s.answer == nil || errors.Is(reason, s.answer)
}

// reports takes a report of the holder.
func (s *supply) reports(h *holder, r lease.Report) {
	w, now := h.site.world, h.site.Clock.Monotonic()
	switch r.What {
	case lease.Lost:
		s.losses++
		s.troubles = []error{r.Err}
	case lease.GaveUp, lease.Broken:
		s.troubles = []error{r.Err}
	case lease.Noted:
		s.troubles = append(slices.Clip(s.troubles), r.Err)
	case lease.Interrupted:
		if phase := h.state.View().Phase; phase == lease.Releasing || phase == lease.Stopped {
			w.breaks("outage", "%s reports an outage, and is ending", h.site.Host)
		}
		s.outages++
		if s.reported || r.Err == nil {
			w.breaks("outage", "%s reports an outage, and reported one before: %t, for %v", h.site.Host, s.reported, r.Err)
		}
		s.reported, s.fresh = true, true
	case lease.Resumed:
		if !s.reported || r.For != now-s.since {
			w.breaks("outage", "%s reports the end of one of %s: it lasted for %s, and was reported: %t", h.site.Host, r.For, now-s.since, s.reported)
		}
		s.reported = false
	}
}

// judge compares the holder's state after a step with the facts.
func (s *supply) judge(h *holder) {
	view, w, now, fresh := h.state.View(), h.site.world, h.site.Clock.Monotonic(), s.fresh
	s.fresh = false
	s.begun = s.begun || h.term != nil
	if !s.begun || view.Phase == lease.Releasing || view.Phase == lease.Stopped {
		return
	}
	able, o := h.able(), view.Outage
	if !able && !s.dry {
		s.since = now
		if view.Holding && errors.Is(h.refusal(), snowfence.ErrWindowEnded) {
			s.windows++
		}
	}
	if h.intake.steps > 1 { // the generator was not looked at between two steps
		s.windows = view.WindowsEnded
		if !able && o.Since == now {
			s.since = now // ids may have gone on and stopped again
		}
	}
	s.dry = !able
	at, set := h.driver.Wake()
	late := func(due time.Duration) bool {
		return h.stalled == nil && (!set || at > max(due, now)+h.site.Layout.Unit+time.Millisecond)
	}
	fault := ""
	switch {
	case able != (o.Supply == lease.Issuing):
		fault = "can issue, or can't, and reports otherwise"
	case s.reported != (o.Supply == lease.Refusing), s.outages != view.Outages, s.losses != view.Losses, s.windows != view.WindowsEnded:
		fault = "reports something else than it shows"
	case able && o.Reason != nil, !able && !s.explained(h, view):
		fault = "has a wrong reason"
	case able && late(now+h.left()):
		fault = "will not notice that its window ends"
	case !able && o.Final != (view.Phase == lease.Failed):
		fault = "is mistaken about whether ids will ever be issued"
	case !able && o.Supply == lease.Failing && !h.waitsForIt():
		fault = "lets calls wait in vain"
	case !able && o.Since != s.since:
		fault = "dates the outage otherwise"
	case !able && o.Supply == lease.Failing && now-s.since >= h.site.Plan.MaxWait:
		fault = "does not report that calls are refused"
	case fresh && h.intake.steps == 1 && now-s.since < h.site.Plan.MaxWait && h.waitsForIt(): // of several steps it may have been right for one
		fault = "reports that calls are refused before they are"
	case !able && o.Supply == lease.Failing && late(s.since+h.site.Plan.MaxWait):
		fault = "will not report in time that calls are refused"
	case !able && o.Supply == lease.Refusing && h.term != nil && late(now+time.Second):
		fault = "will not notice that its clock is back"
	}
	if fault != "" {
		w.breaks("outage", "%s, process %d, in phase %s %s: %+v, dry %t since %s, now %s", h.site.Host, h.site.Process, view.Phase, fault, o, s.dry, s.since, now)
	}
}

// left is how long the generator takes to the end of its window.
func (h *holder) left() time.Duration { return h.driver.Generator().Status().Left }

// waitsForIt reports whether a call would wait for the outage to end: there will be another term or
// window, or the clock ends the term of a holder with a pool to choose from.
func (h *holder) waitsForIt() bool {
	if h.term == nil {
		return h.state.View().Phase != lease.Failed
	}
	status := h.driver.Generator().Status()
	return status.Revoked != nil || !errors.Is(h.refusal(), errOutside) && (!status.ClockLost || h.site.Plan.Pins == 0)
}
