package journal

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

var (
	errKilled = errors.New("the process was killed")
	errDisk   = errors.New("input/output error")
)

// machine is a computer with one folder: what its programs see, and what is left
// when its power fails.
type machine struct {
	names   map[string]*node // as programs see them
	durable map[string]*node // as they were at the last fsync of the folder
	born    uint64
	clock   int64
	owner   *process // who has the lock
	using   []*process
	boot    int
	syncs   int
	deaf    int  // a mutant: from that fsync of a file on none does anything, and says that it did
	coarse  bool // its file system tells times of change by whole seconds
	blind   bool // a mutant: the time of the last change is not looked at
}

// node is a file.
type node struct {
	inode   uint64
	changed int64
	content []byte
	synced  []byte
	stamped int64 // changed, as it was synced
}

func newMachine() *machine {
	return &machine{names: map[string]*node{}, durable: map[string]*node{}}
}

func (m *machine) touch(n *node) {
	m.clock++
	n.changed = m.clock
}

func (m *machine) clone() *machine {
	c := *m
	c.owner, c.using = nil, nil
	seen := map[*node]*node{}
	clone := func(names map[string]*node) map[string]*node {
		to := map[string]*node{}
		for name, n := range names {
			if seen[n] == nil {
				copied := *n
				copied.content, copied.synced = bytes.Clone(n.content), bytes.Clone(n.synced)
				seen[n] = &copied
			}
			to[name] = seen[n]
		}
		return to
	}
	c.names, c.durable = clone(m.names), clone(m.durable)
	return &c
}

// losePower leaves of what was not synced whatever chance wants: of each file
// the old or the new content or a mixture, of the names any that were there
// since the last fsync of the folder.
func (m *machine) losePower(random *rand.Rand) {
	m.owner, m.using = nil, nil
	m.boot++
	left := map[string]*node{}
	for _, name := range slices.Sorted(maps.Keys(m.durable)) {
		left[name] = m.durable[name]
	}
	for _, name := range []string{lockName, oddName, evenName, consumedName} {
		if m.names[name] != m.durable[name] && random.IntN(2) == 0 {
			delete(left, name)
			if n := m.names[name]; n != nil {
				left[name] = n
			}
		}
	}
	for _, n := range left {
		if bytes.Equal(n.content, n.synced) {
			continue
		}
		switch random.IntN(3) {
		case 0:
			n.content = bytes.Clone(n.synced)
		case 1:
			half := min(len(n.content), len(n.synced)) / 2
			n.content = slices.Concat(n.content[:half], n.synced[half:])
		}
		if random.IntN(2) == 0 {
			n.changed = n.stamped
		}
		n.synced, n.stamped = bytes.Clone(n.content), n.changed
	}
	m.names, m.durable = left, maps.Clone(left)
}

// process is the machine's disk as one process has it. It dies at a step, or a
// step fails.
type process struct {
	machine *machine
	step    int
	killAt  int
	failAt  int
	dead    bool
	between func() // something happens before each step
	trace   []string
	held    *node
	open    map[*node]bool
}

func (p *process) begin(name string) error {
	if p.between != nil {
		p.between()
	}
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
		return errDisk
	}
	return nil
}

func (p *process) kill() {
	p.dead = true
	if p.machine.owner == p {
		p.machine.owner = nil
	}
}

func (p *process) Lock() error {
	m := p.machine
	p.open, m.using = map[*node]bool{}, append(m.using, p)
	if m.names[lockName] == nil {
		m.born++
		m.names[lockName] = &node{inode: m.born}
	}
	if m.owner != nil && m.owner.held == m.names[lockName] {
		return &InUseError{Owner: "pid 1"}
	}
	m.owner, p.held = p, m.names[lockName]
	return nil
}

func (p *process) Locked() error {
	if err := p.begin("look at the lock"); err != nil {
		return err
	}
	if p.machine.names[lockName] != p.held {
		return ErrReplaced
	}
	return nil
}

func (p *process) Create(name string) (File, error) {
	if err := p.begin("create"); err != nil {
		return nil, err
	}
	m := p.machine
	delete(m.names, name)
	n := &node{inode: m.number()}
	m.touch(n)
	m.names[name], p.open[n] = n, true
	return &opened{p, n}, nil
}

// number returns the lowest number that no file has. That of a file that is gone
// is taken again, as file systems do, but not while the file is open.
func (m *machine) number() uint64 {
	taken := map[uint64]bool{}
	for _, n := range m.names {
		taken[n.inode] = true
	}
	for _, p := range m.using {
		for n := range p.open {
			taken[n.inode] = taken[n.inode] || !p.dead
		}
	}
	number := uint64(100)
	for taken[number] {
		number++
	}
	return number
}

func (p *process) Read(name string, limit int) ([]byte, error) {
	if err := p.begin("read"); err != nil {
		return nil, err
	}
	n := p.machine.names[name]
	if n == nil {
		return nil, fs.ErrNotExist
	}
	return append([]byte{}, n.content[:min(limit, len(n.content))]...), nil
}

func (p *process) Stamp(name string) (Stamp, error) {
	if err := p.begin("stamp"); err != nil {
		return Stamp{}, err
	}
	n := p.machine.names[name]
	if n == nil {
		return Stamp{}, fs.ErrNotExist
	}
	return p.machine.stampOf(n), nil
}

func (m *machine) stampOf(n *node) Stamp {
	changed := time.Unix(0, n.changed)
	switch {
	case m.blind:
		changed = time.Unix(0, 1)
	case m.coarse:
		changed = changed.Truncate(time.Second)
	}
	return Stamp{Device: 1, Inode: n.inode, Changed: changed.UTC()}
}

func (p *process) Rename(from, to string) error {
	if err := p.begin("rename"); err != nil {
		return err
	}
	n := p.machine.names[from]
	if n == nil {
		return fs.ErrNotExist
	}
	p.machine.touch(n)
	delete(p.machine.names, from)
	p.machine.names[to] = n
	return nil
}

func (p *process) Remove(name string) error {
	if err := p.begin("remove"); err != nil {
		return err
	}
	if p.machine.names[name] == nil {
		return fs.ErrNotExist
	}
	delete(p.machine.names, name)
	return nil
}

func (p *process) Sync() error {
	if err := p.begin("sync folder"); err != nil {
		return err
	}
	p.machine.durable = maps.Clone(p.machine.names)
	return nil
}

func (p *process) Close() error {
	p.kill()
	return nil
}

// opened is an open file.
type opened struct {
	process *process
	node    *node
}

// write writes half when the process dies in it or it fails.
func (f *opened) Write(content []byte) error {
	if f.process.dead {
		return errKilled
	}
	err := f.process.begin("write")
	if err != nil {
		content = content[:len(content)/2]
	}
	f.process.machine.touch(f.node)
	rest := []byte{}
	if len(f.node.content) > len(content) {
		rest = f.node.content[len(content):]
	}
	f.node.content = slices.Concat(content, rest)
	return err
}

func (f *opened) Sync() error {
	if err := f.process.begin("sync file"); err != nil {
		return err
	}
	if f.process.machine.syncs++; f.process.machine.deaf == 0 || f.process.machine.syncs < f.process.machine.deaf {
		f.node.synced, f.node.stamped = bytes.Clone(f.node.content), f.node.changed
	}
	return nil
}

func (f *opened) Stamp() (Stamp, error) {
	if err := f.process.begin("stamp"); err != nil {
		return Stamp{}, err
	}
	return f.process.machine.stampOf(f.node), nil
}

func (f *opened) Close() error {
	delete(f.process.open, f.node)
	return nil
}
