package fence

import (
	"fmt"
	"io"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/journal"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/store"
)

// OpenJournal opens the journal in the folder dir, on a local disk, and locks it until Close.
// Each holder has its own folder, which is made if it is missing. A term can be resumed while
// its window lasts: use a long one. The engine must still open, and most connect then.
//
// An error is returned while another process has the folder, if its file system is not known to be local,
// and if the operating system is not Linux or macOS. Then a program goes on without a journal.
func OpenJournal(dir string) (ClosableJournal, error) {
	j, err := journal.Open(journal.Config{Dir: dir})
	if err != nil {
		return nil, err
	}
	return j, nil
}

// ClosableJournal is a [Journal] to close after its holder.
type ClosableJournal interface {
	Journal
	io.Closer
}

// Journal keeps one page for the next process on this machine, which resumes the term of a
// crashed holder with it, even while the store does not answer. [OpenJournal] makes one.
//
// One process at a time has a journal, and in it one holder. The journal's opener
// makes sure of that. One goroutine at a time calls the methods.
type Journal interface {
	// Take consumes the page of an earlier process: from then on, durably, only this call returns it.
	// It returns nil and nil if the journal is empty. It is called once, before everything else. After
	// an error the holder goes on without the journal, except for [ErrJournalRefused]: a page was there
	// that can't be used, and is useless now.
	Take() ([]byte, error)

	// Keep replaces the page that Take returns to the next process. The new page is
	// durable when Keep returns without an error. After an error either page may be
	// there, or none.
	Keep(page []byte) error

	// Discard makes the page useless. When it returns without an error, that is durable,
	// and other processes have not taken the page before.
	Discard() error
}

// JournalStatus is the status of a holder's journal.
type JournalStatus struct {
	// Kept is true while the term could be resumed from the journal.
	Kept bool
	// Used is the journal's bound: above every tick that was stamped so far.
	Used snowfence.Tick
	// Resumed is true when the present term was resumed from the journal.
	Resumed bool
}

// judgeTraits returns an error if the store can lose more than it could when the bounds of
// the journal's term were confirmed.
func (l *loop) judgeTraits(traits store.Traits) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.status.Traits.Loss; traits.Loss > known {
		return fmt.Errorf("%w: the store can lose %s now, and %s when the journal was kept: start again", lease.ErrJournal, traits.Loss, known)
	}
	l.status.Traits = traits
	return nil
}
