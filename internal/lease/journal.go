package lease

import (
	"errors"
	"fmt"

	"snowfence.example/snowfence/internal/stored"
)

// journalPatience is how many times JournalAhead the disk may take for a page.
const journalPatience = 10

// errDiskSilent is a page's result when the disk did not answer.
var errDiskSilent = errors.New("the disk did not answer in time")

// keep writes a page of the present term, with the bound moved ahead.
func (s *State) keep(x *step) {
	j := &s.journal
	switch {
	case j.off:
		return
	case j.awaited != 0:
		j.again = true
		return
	}
	if !s.inJournal() {
		j.holder, j.used = s.term.register.Holder, s.term.floor
	}
	page := stored.Page{
		Name: x.Namespace, Namespace: s.search.record, Worker: s.term.worker,
		Version: s.term.version, Register: s.term.register, Usable: s.term.usable,
		Used: min(s.term.usable, max(j.used, s.front(x)+x.ahead)),
		Loss: x.Loss,
	}
	if s.phase == Resuming {
		page.Used = j.used // nothing is stamped before the next page
	}
	for _, b := range s.term.pending {
		if b.until == page.Register.Until {
			page.Age = x.now.Monotonic - b.acked
		}
	}
	j.covers = ""
	if w := s.undecided(); w != nil {
		page.Pending, j.covers = w.Value, w.register.Write
	}
	j.next, j.again = page.Used, false
	s.askJournal(x, false, func(id uint64) Request { return Keep{ID: id, Page: page} })
}

// undecided is the extension whose outcome is open, if there is one.
func (s *State) undecided() *write {
	if s.term.write != nil && s.term.write.purpose == extending {
		return s.term.write
	}
	return s.term.open
}

// discard makes the page useless, if there may be one.
func (s *State) discard(x *step) {
	j := &s.journal
	switch {
	case j.holder == "":
	case j.awaited != 0:
		j.end = !j.discarding
	default:
		s.askJournal(x, true, func(id uint64) Request { return Discard{ID: id} })
	}
}

func (s *State) askJournal(x *step, discarding bool, request func(id uint64) Request) {
	j := &s.journal
	j.requests++
	j.awaited, j.discarding, j.overdue = j.requests, discarding, false
	j.wake, j.waking = x.now.Monotonic+journalPatience*x.JournalAhead, true
	x.out = append(x.out, request(j.requests))
}

// kept goes on when a page was written, or was not.
//
// After a failure the page before it may be there or not. So it is not known which bound a
// successor would find. That bound is not below a stamped tick, because the generator does
// not pass the last durable one. But now the generator may pass it only when every page is gone.
func (s *State) kept(x *step, err error) {
	j := &s.journal
	j.awaited, j.waking = 0, false
	if err != nil {
		j.off = true
		x.note(fmt.Errorf("keep the journal: %w", err), "it is given up")
		s.discard(x)
		return
	}
	if j.end || !s.inJournal() {
		j.end = false
		s.discard(x)
		return
	}
	j.used = j.next
	switch {
	case s.releasing:
		s.release(x)
		return
	case s.phase == Resuming:
		s.vouch(x)
	case s.phase == Recording:
		s.start(x)
	case s.holding():
		x.out = append(x.out, Extend{Until: s.grant(), Expires: s.term.expires})
	default:
	}
	if j.awaited != 0 {
		return // the next page is under way already, with everything in it
	}
	if s.term.write != nil && s.term.write.unsent {
		if s.term.write.register.Write == j.covers {
			s.term.swap(x)
		} else {
			j.again = true
		}
	}
	if j.again {
		s.keep(x)
		return
	}
	s.schedulePage(x)
}

// discarded goes on when the page was made useless, or was not.
func (s *State) discarded(x *step, err error) {
	j := &s.journal
	j.awaited, j.waking, j.discarding, j.end = 0, false, false, false
	if err != nil {
		j.off = true
		x.note(fmt.Errorf("discard the journal: %w", err), "it stays as it is")
	} else {
		j.holder = ""
	}
	s.unblocked(x)
}

// unblocked goes on with the work that waited for the disk. Now there is either no page of
// the present term, or a page that can't be removed.
//
// In the second case the term ends. Its page is harmless then: a process that resumes from
// it stamps ticks from used to usable. Only this process has the ticks, and it stops issuing under the
// term.
func (s *State) unblocked(x *step) {
	switch {
	case s.phase == Releasing:
		s.release(x)
	case s.inJournal():
		s.endTerm(x, fmt.Errorf("%w: its page can neither be written nor removed", ErrJournal), false)
	case s.phase == Resuming:
		s.vouch(x)
	case s.phase == Recording && s.journal.off:
		s.start(x)
	case s.phase == Recording:
		s.keep(x)
	case s.holding():
		x.out = append(x.out, Extend{Until: s.grant(), Expires: s.term.expires})
		if s.term.write != nil && s.term.write.unsent {
			s.term.swap(x)
		}
	default:
	}
}

// journalWoken moves the bound ahead when that is due, or gives up a silent disk.
func (s *State) journalWoken(x *step) {
	j := &s.journal
	if !j.waking || x.now.Monotonic < j.wake {
		return
	}
	j.waking = false
	if j.awaited != 0 && !j.overdue {
		// Perhaps this process was stopped, and not the disk.
		j.overdue, j.wake, j.waking = true, x.now.Monotonic+x.JournalAhead, true
		return
	}
	if j.awaited != 0 {
		j.awaited, j.discarding, j.again, j.end, j.off = 0, false, false, false, true
		x.note(fmt.Errorf("write the journal: %w", errDiskSilent), "it is given up")
		s.unblocked(x)
		return
	}
	if s.holding() && s.inJournal() {
		s.keep(x)
	}
}

// schedulePage sets the date of the next page: when half of JournalAhead is left. A bound
// that has reached usable can't move.
func (s *State) schedulePage(x *step) {
	j := &s.journal
	if !s.holding() || !s.inJournal() || j.off || j.awaited != 0 {
		return
	}
	if j.waking = j.used < s.term.usable; !j.waking {
		return
	}
	left := x.Layout.TimeOf(j.used).Sub(x.Layout.TimeOf(s.front(x)))
	j.wake = x.now.Monotonic + max(0, left-x.JournalAhead/2)
}

// pageEnded moves the bound now, if the generator has reached the journal's bound.
func (s *State) pageEnded(x *step) {
	j := &s.journal
	if s.inJournal() && j.awaited == 0 && j.used < s.term.usable && j.used-s.front(x) <= x.ahead/2 {
		s.keep(x)
	}
}
