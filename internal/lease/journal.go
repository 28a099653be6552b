package lease

import (
	"errors"
	"fmt"
	"time"

	"snowfence.example/snowfence"
)

// journalPatience is how many times JournalAhead the disk may take for a page.
const journalPatience = 10

// errDiskSilent is what became of a page when the disk did not answer.
var errDiskSilent = errors.New("the disk did not answer in time")

// journal is what is known of the page on this machine's disk. Its bound is a
// window one level down: the generator stamps no tick at or above used, so a
// successor that reads the page begins above all that was stamped, whenever
// this process ends.
//
// While a page of the term may be there, the generator's bound is the lesser of
// what the store acknowledged and what the disk did. It passes used only when a
// page with a greater one is durable, or when none is left.
type journal struct {
	off        bool           // it failed: nothing is kept any more
	holder     string         // the nonce of the term of which a page may be there; empty for none
	used       snowfence.Tick // the bound of that term's last page that is durable
	requests   uint64         // Keeps and Discards so far; the last one's id
	awaited    uint64         // the id of the one under way; 0 for none
	discarding bool           // it is a Discard
	next       snowfence.Tick // the bound in the page that is under way
	covers     string         // the mark of the write in it
	again      bool           // another page is to be kept when that one is
	end        bool           // the journal is to be discarded when that one is kept
	overdue    bool           // what is under way was to be done by now
	wake       time.Duration
	waking     bool
}

// inJournal reports whether a page of the present term may be on the disk.
func (s State) inJournal() bool {
	return s.journal.holder != "" && s.journal.holder == s.term.register.Holder
}

// grant is the bound for the generator.
func (r *run) grant() snowfence.Tick {
	if r.inJournal() {
		return min(r.term.usable, r.journal.used)
	}
	return r.term.usable
}

// front is the tick ahead of which the journal's bound is moved: now, by the
// clock or by the generator, whichever is later.
func (r *run) front() snowfence.Tick {
	return max(r.tick(), r.now.Generator.Now, r.term.floor)
}

// keep writes a page of the term as it stands, with the bound moved ahead.
func (r *run) keep() {
	j := &r.journal
	switch {
	case j.off:
		return
	case j.awaited != 0:
		j.again = true
		return
	}
	if !r.inJournal() {
		j.holder, j.used = r.term.register.Holder, r.term.floor
	}
	page := Page{
		Name: r.config.Namespace, Namespace: r.namespace, Worker: r.term.worker,
		Version: r.term.version, Register: r.term.register, Usable: r.term.usable,
		Used: min(r.term.usable, max(j.used, r.front()+r.config.ahead)),
		Loss: r.config.Loss,
	}
	if r.phase == Resuming {
		page.Used = j.used // nothing is stamped before the next page
	}
	j.covers = ""
	if w := r.undecided(); w != nil {
		page.Pending, j.covers = w.value, w.register.Write
	}
	j.next, j.again = page.Used, false
	r.askJournal(false, func(id uint64) Request { return Keep{ID: id, Page: page} })
}

// undecided is the extension whose outcome is open, if there is one.
func (r *run) undecided() *write {
	if r.write != nil && r.write.purpose == extending {
		return r.write
	}
	return r.term.open
}

// discard makes the page useless, if there may be one.
func (r *run) discard() {
	j := &r.journal
	switch {
	case j.holder == "":
	case j.awaited != 0:
		j.end = !j.discarding
	default:
		r.askJournal(true, func(id uint64) Request { return Discard{ID: id} })
	}
}

func (r *run) askJournal(discarding bool, request func(id uint64) Request) {
	j := &r.journal
	j.requests++
	j.awaited, j.discarding, j.overdue = j.requests, discarding, false
	j.wake, j.waking = r.now.Monotonic+journalPatience*r.config.JournalAhead, true
	r.out = append(r.out, request(j.requests))
}

// kept goes on when a page was written, or was not.
//
// The page before it is gone or not, so after a failure it is not known which
// bound a successor would find. It is none below what was stamped, for the
// generator does not pass the last one that is durable; but neither may it ever
// pass that one now, unless no page is left at all.
func (r *run) kept(err error) {
	j := &r.journal
	if j.awaited == 0 {
		return
	}
	j.awaited, j.waking = 0, false
	if err != nil {
		j.off = true
		r.note(fmt.Errorf("keep the journal: %w", err), "it is given up")
		r.discard()
		return
	}
	if j.end || !r.inJournal() {
		j.end = false
		r.discard()
		return
	}
	j.used = j.next
	switch {
	case r.releasing:
		r.release()
		return
	case r.phase == Resuming:
		r.vouch()
	case r.phase == Recording:
		r.start()
	case r.phase == Holding:
		r.out = append(r.out, Extend{Until: r.grant()})
	default:
	}
	if j.awaited != 0 {
		return // the next page is under way already, with all that there is
	}
	if r.write != nil && r.write.unsent {
		if r.write.register.Write == j.covers {
			r.swap()
		} else {
			j.again = true
		}
	}
	if j.again {
		r.keep()
		return
	}
	r.schedulePage()
}

// discarded goes on when the journal was made useless, or was not.
func (r *run) discarded(err error) {
	j := &r.journal
	if j.awaited == 0 {
		return
	}
	j.awaited, j.waking, j.discarding, j.end = 0, false, false, false
	if err != nil {
		j.off = true
		r.note(fmt.Errorf("discard the journal: %w", err), "it stays as it is")
	} else {
		j.holder = ""
	}
	r.unblocked()
}

// unblocked goes on with what waited for the disk, now that there is either no
// page of the present term, or no getting rid of it.
//
// In the second case the term ends. Its page is harmless then: whoever resumes
// from it stamps ticks from used to usable of a term that nobody else has, and
// under which this process issues no more.
func (r *run) unblocked() {
	switch {
	case r.phase == Releasing:
		r.release()
	case r.inJournal():
		r.endTerm(fmt.Errorf("%w: its page can neither be written nor removed", ErrJournal), false)
	case r.phase == Resuming:
		r.vouch()
	case r.phase == Recording && r.journal.off:
		r.start()
	case r.phase == Recording:
		r.keep()
	case r.phase == Holding:
		r.out = append(r.out, Extend{Until: r.grant()})
		if r.write != nil && r.write.unsent {
			r.swap()
		}
	default:
	}
}

// journalWoken moves the bound ahead when that is due, or gives up a disk that
// does not answer.
func (r *run) journalWoken() {
	j := &r.journal
	if j.awaited != 0 && !j.overdue {
		// It may be this process that was stopped, and not the disk.
		j.overdue, j.wake, j.waking = true, r.now.Monotonic+r.config.JournalAhead, true
		return
	}
	if j.awaited != 0 {
		j.awaited, j.discarding, j.again, j.end, j.off = 0, false, false, false, true
		r.note(fmt.Errorf("write the journal: %w", errDiskSilent), "it is given up")
		r.unblocked()
		return
	}
	if r.phase == Holding && r.inJournal() {
		r.keep()
	}
}

// schedulePage sets the date at which the bound is to be moved again: when half
// of what it was moved ahead by is left. Nothing is left to move once it is all
// that is usable.
func (r *run) schedulePage() {
	j := &r.journal
	if r.phase != Holding || !r.inJournal() || j.off || j.awaited != 0 {
		return
	}
	if j.waking = j.used < r.term.usable; !j.waking {
		return
	}
	left := r.config.Layout.TimeOf(j.used).Sub(r.config.Layout.TimeOf(r.front()))
	j.wake = r.now.Monotonic + max(0, left-r.config.JournalAhead/2)
}

// pageEnded moves the bound now, if it was the journal's at which the generator
// stood still.
func (r *run) pageEnded() {
	j := &r.journal
	if r.inJournal() && j.awaited == 0 && j.used < r.term.usable && j.used-r.front() <= r.config.ahead/2 {
		r.keep()
	}
}
