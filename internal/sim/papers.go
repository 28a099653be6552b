package sim

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"snowfence.example/snowfence/internal/journal"
)

var (
	errDisk   = errors.New("the disk failed")
	errKilled = errors.New("the process was killed")
)

// papers is the folder of a journal: what programs see, and what is left when the power fails.
type papers struct {
	names   map[string]*paper // as programs see them
	durable map[string]*paper // as they were at the last fsync of the folder
	clock   int64             // the file system's, which counts changes
	hands   []*hand           // of the processes that live
	machine string
	boot    int // counts the starts of the machine
}

// paper is a file.
type paper struct {
	inode   uint64
	changed int64
	content []byte
	synced  []byte // what is left when the power fails, or a mixture of both
	stamped int64  // changed, as it was synced
	deaf    bool   // an fsync of it failed: a later one says that it is good, and does nothing
}

func newPapers(machine string) *papers {
	return &papers{names: make(map[string]*paper), durable: make(map[string]*paper), machine: machine}
}

// add makes a file. The number of one that is gone is taken again, as file systems do.
func (p *papers) add(name string, content []byte) *paper {
	f := &paper{inode: 100, content: content}
	known := slices.AppendSeq(slices.Collect(maps.Values(p.names)), maps.Values(p.durable))
	for _, h := range p.hands {
		known = append(known, h.mine...)
	}
	for slices.ContainsFunc(known, func(o *paper) bool { return o.inode == f.inode }) {
		f.inode++
	}
	p.touch(f)
	p.names[name] = f
	return f
}

func (p *papers) touch(f *paper) {
	p.clock++
	f.changed = p.clock
}

// sync makes what the file holds durable.
func (f *paper) sync() { f.synced, f.stamped = bytes.Clone(f.content), f.changed }

// losePower leaves of what was not synced whatever chance wants, or nothing: of each
// file the old or the new content or a mixture, of the names any that were there since
// the last fsync of the journal. It reports whether anything is lost.
func (p *papers) losePower(rng *rand.Rand) (lost bool) {
	p.boot++
	least := chance(rng, 50)
	keeps := func() bool { return !least && chance(rng, 50) }
	left := make(map[string]*paper)
	every := maps.Clone(p.durable)
	maps.Copy(every, p.names)
	for _, name := range slices.Sorted(maps.Keys(every)) {
		f := p.durable[name]
		if is := p.names[name]; is != f && keeps() {
			f = is
		} else if is != f {
			lost = true
		}
		if f == nil {
			continue
		}
		if left[name] = f; bytes.Equal(f.content, f.synced) {
			continue
		}
		if !keeps() {
			lost = true
			half := 0
			if chance(rng, 30) {
				half = min(len(f.content), len(f.synced)) / 2
			}
			f.content = slices.Concat(f.content[:half], f.synced[half:])
		}
		if !keeps() {
			f.changed = f.stamped
		}
		f.sync()
	}
	for _, f := range left {
		f.deaf = false
	}
	p.names, p.durable = left, maps.Clone(left)
	return lost
}

// hand returns the folder to a process that starts.
func (p *papers) hand(rng *rand.Rand, bug diskBug) *hand {
	h := &hand{papers: p, rng: rng, bug: bug, latest: make(map[string]*paper)}
	p.hands = append(p.hands, h)
	return h
}

// hand is the folder as one process has it, with what goes wrong there: a [journal.Disk].
type hand struct {
	papers *papers
	rng    *rand.Rand
	bug    diskBug
	held   *paper            // the lock file
	mine   []*paper          // all that it has opened
	latest map[string]*paper // what it created last under a name

	dead      bool
	dies      int  // the process does, at that step from now; 0 for never
	fails     int  // that step from now does; 0 for none
	failsSync bool // the next fsync of a file does
	worn      bool // so does one change in three
	doing     diskCall
}

// diskCall is what a journal is doing on its disk.
type diskCall string

const (
	keeping    diskCall = "keep"
	discarding diskCall = "remove"
)

// step is the beginning of each operation.
func (h *hand) step(changes bool) error {
	if h.dies--; h.dead || h.dies == 0 {
		h.dead = true
		return errKilled
	}
	if h.fails--; h.fails == 0 || changes && h.worn && chance(h.rng, 30) {
		return errDisk
	}
	return nil
}

// works reports whether an fsync that ends in err makes things durable. One that fails may, too.
func (h *hand) works(err error) bool {
	return err == nil || errors.Is(err, errDisk) && chance(h.rng, 50)
}

// Lock keeps nobody out: on a machine of its own a process is alone, and where two
// share a folder the lock is of no use.
func (h *hand) Lock() error {
	if h.held = h.papers.names["lock"]; h.held == nil {
		h.held = h.papers.add("lock", nil)
	}
	h.mine = append(h.mine, h.held)
	return nil
}

func (h *hand) Locked() error {
	if err := h.step(false); err != nil {
		return err
	}
	if h.papers.names["lock"] != h.held && !h.looksAway() {
		return journal.ErrReplaced
	}
	return nil
}

// looksAway is a mutant's: it does not see who else was there.
func (h *hand) looksAway() bool { return h.bug == looksAway && h.doing == keeping }

func (h *hand) Create(name string) (journal.File, error) {
	if err := h.step(true); err != nil {
		return nil, err
	}
	f := h.papers.add(name, nil)
	h.mine, h.latest[name] = append(h.mine, f), f
	return &sheet{h, f}, nil
}

// find is the beginning of an operation on a file that must be there.
func (h *hand) find(name string, changes bool) (*paper, error) {
	if err := h.step(changes); err != nil {
		return nil, err
	}
	f := h.papers.names[name]
	if f == nil {
		return nil, fs.ErrNotExist
	}
	return f, nil
}

func (h *hand) Read(name string, limit int) ([]byte, error) {
	f, err := h.find(name, false)
	if err != nil {
		return nil, err
	}
	return bytes.Clone(f.content[:min(limit, len(f.content))]), nil
}

func (h *hand) Stamp(name string) (journal.Stamp, error) {
	if own := h.latest[name]; own != nil && h.looksAway() {
		return h.stamp(own), h.step(false)
	}
	f, err := h.find(name, false)
	if err != nil {
		return journal.Stamp{}, err
	}
	return h.stamp(f), nil
}

func (h *hand) stamp(f *paper) journal.Stamp {
	if h.bug == acceptsCopies {
		return journal.Stamp{Inode: 1, Changed: time.Unix(0, 1).UTC()}
	}
	return journal.Stamp{Inode: f.inode, Changed: time.Unix(0, f.changed).UTC()}
}

func (h *hand) Rename(from, to string) error {
	f, err := h.find(from, true)
	if err != nil {
		return err
	}
	h.papers.touch(f)
	delete(h.papers.names, from)
	h.papers.names[to] = f
	return nil
}

func (h *hand) Remove(name string) error {
	_, err := h.find(name, true)
	if err == nil {
		delete(h.papers.names, name)
	}
	return err
}

func (h *hand) Sync() error {
	if h.bug == forgetsFolder && h.doing == discarding {
		return nil
	}
	err := h.step(true)
	if h.works(err) {
		h.papers.durable = maps.Clone(h.papers.names)
	}
	return err
}

// Close is what the end of the process does, too.
func (h *hand) Close() error {
	h.dead = true
	h.papers.hands = slices.DeleteFunc(h.papers.hands, func(o *hand) bool { return o == h })
	return nil
}

// sheet is an open file. It implements [journal.File].
type sheet struct {
	hand  *hand
	paper *paper
}

// Write writes half when the process dies in it or it fails.
func (s *sheet) Write(content []byte) error {
	f, dead := s.paper, s.hand.dead
	err := s.hand.step(true)
	if dead {
		return err
	}
	if err != nil {
		content = content[:len(content)/2]
	}
	s.hand.papers.touch(f)
	f.content = slices.Concat(content, f.content[min(len(content), len(f.content)):])
	return err
}

func (s *sheet) Sync() error {
	h, f := s.hand, s.paper
	err := h.step(true)
	if err == nil && h.failsSync {
		err, h.failsSync = errDisk, false
	}
	if !f.deaf && h.works(err) {
		f.sync()
	}
	if errors.Is(err, errDisk) {
		if f.deaf = true; h.bug == syncsAgain {
			return nil
		}
	}
	return err
}

func (s *sheet) Stamp() (journal.Stamp, error) {
	if err := s.hand.step(false); err != nil {
		return journal.Stamp{}, err
	}
	return s.hand.stamp(s.paper), nil
}

func (s *sheet) Close() error { return nil }
