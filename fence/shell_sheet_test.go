package fence_test

import (
	"errors"
	"sync"
	"time"
)

// sheet is a machine's journal: what package internal/journal does on a real disk
// is one step here. It outlives the processes of its machine.
type sheet struct {
	mu    sync.Mutex
	page  []byte
	fails bool
	hangs chan struct{} // writes wait for it; nil if not
}

func (s *sheet) set(do func(s *sheet)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do(s)
}

// content returns the page that is there.
func (s *sheet) content() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.page)
}

// pen is how one process writes on its machine's sheet, until it is gone. What
// it is writing when it is killed may be there afterwards, or not.
type pen struct {
	*sheet
	p    *process
	gone chan struct{}
	once sync.Once
}

var (
	errSheet = errors.New("the sheet's disk failed")
	errPen   = errors.New("the journal is closed")
)

func (n *pen) close() { n.once.Do(func() { close(n.gone) }) }

// write does something, after what the disk takes, if the process is still there.
func (n *pen) write(do func()) error {
	n.mu.Lock()
	hangs := n.hangs
	n.mu.Unlock()
	if hangs != nil {
		select {
		case <-hangs:
		case <-n.gone:
		}
	} else {
		pass(200 * time.Microsecond)
	}
	_, goOn := n.p.m.clock.standing()
	select {
	case <-goOn:
	case <-n.gone:
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.gone:
		return errPen
	default:
	}
	if n.fails {
		return errSheet
	}
	do()
	return nil
}

func (n *pen) Take() (page []byte, err error) {
	err = n.write(func() { page, n.page = n.page, nil })
	return page, err
}

func (n *pen) Keep(page []byte) error {
	return n.write(func() { n.page = append([]byte(nil), page...) })
}

func (n *pen) Discard() error { return n.write(func() { n.page = nil }) }
