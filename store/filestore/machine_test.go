package filestore

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sync"
)

// machine is a simulated computer with one folder on its disk. It keeps apart
// what programs see from what is on the disk, and no more is on the disk than
// fsync has promised: a power failure may take away any of the rest.
type machine struct {
	mu     sync.Mutex
	root   *node
	holder *process // of the lock
	mark   mark
}

// node is a file or a folder.
type node struct {
	folder bool

	// A file's bytes, as programs see them and as they are on the disk.
	content, synced []byte

	// A folder's entries, as programs see them and as they are on the disk,
	// and the changes that make the one of the other.
	entries, durable map[string]*node
	changes          []change
}

// change is one change of a folder's entries, atomic as a file system's
// journal makes it.
type change struct {
	set    string // gets the node
	node   *node
	remove string // loses its node
}

func (c change) apply(entries map[string]*node) {
	if c.remove != "" {
		delete(entries, c.remove)
	}
	if c.set != "" {
		entries[c.set] = c.node
	}
}

func newFolder() *node {
	return &node{folder: true, entries: make(map[string]*node), durable: make(map[string]*node)}
}

func newMachine() *machine { return &machine{root: newFolder()} }

// clone copies the machine with everything on it, without its processes.
func (m *machine) clone() *machine {
	copies := make(map[*node]*node)
	var deep func(*node) *node
	deep = func(n *node) *node {
		if n == nil || copies[n] != nil {
			return copies[n]
		}
		c := &node{folder: n.folder, content: bytes.Clone(n.content), synced: bytes.Clone(n.synced)}
		copies[n] = c
		if n.folder {
			c.entries, c.durable = make(map[string]*node), make(map[string]*node)
			for name, child := range n.entries {
				c.entries[name] = deep(child)
			}
			for name, child := range n.durable {
				c.durable[name] = deep(child)
			}
			for _, ch := range n.changes {
				ch.node = deep(ch.node)
				c.changes = append(c.changes, ch)
			}
		}
		return c
	}
	return &machine{root: deep(m.root), mark: m.mark}
}

// losePower takes away what is not on the disk, as pick chooses: any of the
// changes of a folder that were not fsynced, and any part of a file's bytes.
// What the lock file holds was never fsynced, so its mark may be anything.
func (m *machine) losePower(pick func(n int) int) {
	m.holder = nil
	seen := make(map[*node]bool)
	var settle func(*node)
	settle = func(n *node) {
		if seen[n] {
			return
		}
		seen[n] = true
		if !n.folder {
			if !bytes.Equal(n.content, n.synced) {
				n.content = [][]byte{n.synced, n.content[:len(n.content)/2], n.content}[pick(3)]
			}
			n.content = bytes.Clone(n.content)
			n.synced = bytes.Clone(n.content)
			return
		}
		entries := maps.Clone(n.durable)
		for _, c := range n.changes {
			if pick(2) == 0 {
				c.apply(entries)
			}
		}
		n.entries, n.durable, n.changes = entries, maps.Clone(entries), nil
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			settle(entries[name])
		}
	}
	settle(m.root)
	m.mark = []mark{unmarked, m.mark, "", "-a"}[pick(4)]
}

var (
	errKilled = errors.New("the process was killed")
	errDisk   = errors.New("the disk reports an error")
)

// process is a process on a machine: the disk of a Store. It counts its steps,
// the calls that touch the machine, and dies or meets an error at one of them.
type process struct {
	machine *machine

	step    int
	trace   []string // what the steps were, by name
	killAt  int      // the step before which the process dies; 0 is never
	failAt  int      // the step that fails; 0 is none
	failure error    // with what
	dead    bool
	before  func() // something happens before each step; nil for nothing
}

// begin counts a step. It is called with the machine locked.
func (p *process) begin(name string) error {
	if p.dead {
		return errKilled
	}
	p.step++
	p.trace = append(p.trace, name)
	switch p.step {
	case p.killAt:
		p.kill()
		return errKilled
	case p.failAt:
		return p.failure
	}
	return nil
}

// kill ends the process. The kernel frees its lock, and keeps what it wrote.
func (p *process) kill() {
	p.dead = true
	if p.machine.holder == p {
		p.machine.holder = nil
	}
}

func (p *process) pause() {
	if p.before != nil {
		p.before()
	}
}

// do makes one step of the process.
func (p *process) do(name string, f func() error) error {
	p.pause()
	p.machine.mu.Lock()
	defer p.machine.mu.Unlock()
	if err := p.begin(name); err != nil {
		return err
	}
	return f()
}

// find returns the node at a path, and the folder that it is in.
func (m *machine) find(at string) (*node, error) {
	n := m.root
	if at == "." {
		return n, nil
	}
	for rest := at; rest != ""; {
		name, after, _ := cutPath(rest)
		next, ok := n.entries[name]
		if !ok {
			return nil, &fs.PathError{Op: "find", Path: at, Err: fs.ErrNotExist}
		}
		n, rest = next, after
	}
	return n, nil
}

func cutPath(p string) (first, rest string, found bool) {
	for i := range len(p) {
		if p[i] == '/' {
			return p[:i], p[i+1:], true
		}
	}
	return p, "", false
}

func (n *node) change(c change) {
	c.apply(n.entries)
	n.changes = append(n.changes, c)
}

func (p *process) readFile(at string, limit int) (content []byte, err error) {
	err = p.do("read", func() error {
		n, err := p.machine.find(at)
		if err == nil {
			content = bytes.Clone(n.content)
		}
		return err
	})
	return content, err
}

// add puts a new node at a path.
func (p *process) add(at string, n *node) error {
	parent, err := p.machine.find(path.Dir(at))
	if err != nil {
		return err
	}
	name := path.Base(at)
	if _, ok := parent.entries[name]; ok {
		return &fs.PathError{Op: "create", Path: at, Err: fs.ErrExist}
	}
	parent.change(change{set: name, node: n})
	return nil
}

func (p *process) create(at string) (file, error) {
	n := &node{}
	err := p.do("create", func() error { return p.add(at, n) })
	return &openNode{p, n}, err
}

func (p *process) mkdir(at string) error {
	return p.do("mkdir", func() error { return p.add(at, newFolder()) })
}

func (p *process) openFolder(at string) (file, error) {
	var n *node
	err := p.do("open folder", func() (err error) {
		n, err = p.machine.find(at)
		return err
	})
	return &openNode{p, n}, err
}

func (p *process) rename(from, to string) error {
	return p.do("rename", func() error {
		n, err := p.machine.find(from)
		if err != nil {
			return err
		}
		parent, err := p.machine.find(path.Dir(to))
		if err != nil {
			return err
		}
		parent.change(change{set: path.Base(to), node: n, remove: path.Base(from)})
		return nil
	})
}

func (p *process) remove(at string) error {
	return p.do("remove", func() error {
		if _, err := p.machine.find(at); err != nil {
			return err
		}
		parent, err := p.machine.find(path.Dir(at))
		if err != nil {
			return err
		}
		parent.change(change{remove: path.Base(at)})
		return nil
	})
}

func (p *process) names(at string) (names []string, err error) {
	err = p.do("names", func() error {
		n, err := p.machine.find(at)
		if err == nil {
			names = slices.Sorted(maps.Keys(n.entries))
		}
		return err
	})
	return names, err
}

func (p *process) openLock() error      { return nil }
func (p *process) same() error          { return nil }
func (p *process) syncAncestors() error { return nil }
func (p *process) close() error         { return nil }

// openNode is an open file or folder.
type openNode struct {
	process *process
	node    *node
}

// Write writes half when the process dies in it or it fails.
func (f *openNode) Write(b []byte) (int, error) {
	f.process.pause()
	f.process.machine.mu.Lock()
	defer f.process.machine.mu.Unlock()
	if f.process.dead {
		return 0, errKilled
	}
	if err := f.process.begin("write"); err != nil {
		f.node.content = append(f.node.content, b[:len(b)/2]...)
		return len(b) / 2, err
	}
	f.node.content = append(f.node.content, b...)
	return len(b), nil
}

func (f *openNode) Sync() error {
	name := "sync file"
	if f.node.folder {
		name = "sync folder"
	}
	return f.process.do(name, func() error {
		f.node.synced = bytes.Clone(f.node.content)
		f.node.durable, f.node.changes = maps.Clone(f.node.entries), nil
		return nil
	})
}

func (f *openNode) Close() error { return f.process.do("close", func() error { return nil }) }

func (p *process) tryLock() (locked bool, err error) {
	err = p.do("lock", func() error {
		if p.machine.holder == nil {
			p.machine.holder = p
			locked = true
		}
		return nil
	})
	return locked, err
}

func (p *process) unlock() error {
	return p.do("unlock", func() error {
		p.machine.holder = nil
		return nil
	})
}

func (p *process) readMark() (m mark, err error) {
	err = p.do("read mark", func() error {
		m = p.machine.mark
		return nil
	})
	return m, err
}

func (p *process) writeMark(m mark) error {
	return p.do("write mark", func() error {
		p.machine.mark = m
		return nil
	})
}

// choices goes through every combination of the choices that a run asks for.
type choices struct {
	picked, limits []int
	at             int
}

// pick returns this run's choice among n.
func (c *choices) pick(n int) int {
	if c.at == len(c.picked) {
		c.picked, c.limits = append(c.picked, 0), append(c.limits, n)
	}
	c.at++
	return c.picked[c.at-1]
}

// next makes the next combination, and reports whether there is one.
func (c *choices) next() bool {
	c.at = 0
	for i := len(c.picked) - 1; i >= 0; i-- {
		if c.picked[i]++; c.picked[i] < c.limits[i] {
			c.picked, c.limits = c.picked[:i+1], c.limits[:i+1]
			return true
		}
	}
	return false
}
