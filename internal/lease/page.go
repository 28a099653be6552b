package lease

import (
	"fmt"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
)

type (
	// Keep is a [Request]: it replaces the journal's page by Page, durably. At most one
	// Keep or Discard is awaited at any time. It does not hold up calls to the store.
	Keep struct {
		ID   uint64
		Page stored.Page
	}

	// Discard is a [Request]: it makes the journal's page useless, durably.
	Discard struct{ ID uint64 }

	// Written is an [Event]: it answers Keep and Discard. It is done, durably. Or Err is
	// why that is not known.
	Written struct {
		ID  uint64 // the request's
		Err error
	}
)

func (Keep) request()    {}
func (Discard) request() {}
func (Written) event()   {}

// journal is the knowledge of the page on this machine's disk. Its bound is a window one
// level down. The generator stamps no tick at or above used. So a successor that reads the
// page begins above every stamped tick, whenever this process ends.
//
// While a page of the term may be there, the generator's bound is the lesser of the store's
// and the disk's. It passes used only when a page with a greater used is durable, or when
// no page is left.
type journal struct {
	off        bool           // it failed: nothing is kept any more
	holder     string         // the nonce of the term of which a page may be there; empty for none
	used       snowfence.Tick // the bound of that term's last durable page
	requests   uint64         // Keeps and Discards so far; the last one's id
	awaited    uint64         // the id of the one under way; 0 for none
	discarding bool           // it is a Discard
	next       snowfence.Tick // the bound in the page that is under way
	covers     string         // the mark of the write in it
	again      bool           // another page follows that one
	end        bool           // the journal is to be discarded when that one is kept
	overdue    bool           // the one under way should have ended by now
	wake       time.Duration
	waking     bool
}

// inJournal reports whether a page of the present term may be on the disk.
func (s State) inJournal() bool {
	return s.journal.holder != "" && s.journal.holder == s.term.register.Holder
}

// grant is the bound for the generator.
func (s *State) grant() snowfence.Tick {
	if s.inJournal() {
		return min(s.term.usable, s.journal.used)
	}
	return s.term.usable
}

// front is the tick ahead of which the journal's bound is moved: now, by the
// clock or by the generator, whichever is later.
func (s *State) front(x *step) snowfence.Tick {
	return max(x.tick(), x.now.Generator.Now, s.term.floor)
}

// onDisk reports whether a release waits for the journal, and not for the store.
func (s *State) onDisk() bool {
	return s.phase == Releasing && s.term.write == nil && s.journal.awaited != 0
}

// written takes the disk's answer.
func (s *State) written(x *step, e Written) {
	switch {
	case e.ID != s.journal.awaited || s.journal.awaited == 0:
	case s.journal.discarding:
		s.discarded(x, e.Err)
	default:
		s.kept(x, e.Err)
	}
}

// unkept reports whether the term may be released: its pages are gone, or can't be removed.
//
// With a page that outlived the release, the next process could stamp ticks above the
// lowered until, and others may have claimed those by then. So the page is discarded
// before. If it can't be, until does not come down. The page is discarded only after the
// store has answered: without the store nothing can be released, and the next process
// needs the page to go on. A crash in between leaves a register that rests, as any crash
// without a journal does.
func (s *State) unkept(x *step) bool {
	switch {
	case !s.inJournal():
		return true
	case s.journal.awaited != 0: // its answer leads to release again
		return false
	case !s.journal.off:
		x.getRegister(s.term.worker)
		return false
	}
	s.reserved = s.term.register.Until
	return true
}

// answers takes the store's answer before the journal is discarded. The register's content
// does not matter here: the release has its guard.
func (s *State) answers(x *step, e Reply) {
	if e.Outcome != Found && e.Outcome != Absent {
		x.note(fmt.Errorf("release worker %d: %w", s.term.worker, e.Err), "trying again")
		x.backOff()
		return
	}
	s.discard(x)
}
