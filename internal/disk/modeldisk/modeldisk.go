// Package modeldisk is a disk that is made up, for tests and simulations of programs that
// keep files. It is weaker than any file system that such programs may use.
//
//   - A power failure loses any subset of the changes of a folder since its last sync, and
//     leaves of a file's content the synced one, the new one or a mixture, with the old
//     time of change or the new one.
//   - A listing shows any subset of the names that came or went while it was made.
//   - Each operation is one step, a listing is two. Before each step the process may be
//     held up for good, killed, or get an error, with or without the step's effect.
//   - After a failed sync of a file, later ones report success and do nothing.
//   - The inode number of a file that is gone is given to the next one.
//
// A [Disk] and its processes are for one goroutine at a time.
package modeldisk

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// ErrKilled is returned by each step of a process that has ended.
var ErrKilled = errors.New("the process was killed")

// Disk is a disk with one folder on it.
type Disk struct {
	// Pick chooses one of n: whether a listing shows a name.
	Pick func(n int) int

	root   *node
	clock  int64 // counts changes
	opened []*node
}

// New returns an empty disk.
func New(pick func(n int) int) *Disk {
	return &Disk{Pick: pick, root: &node{inode: 1, inside: &inside{}}}
}

// A node is a file, a folder or a symbolic link.
type node struct {
	inode   uint64
	changed int64
	link    bool
	inside  *inside // of a folder
	locked  *Process

	content []byte // as programs see it
	synced  []byte // as it is on the disk
	stamped int64  // changed, as it is on the disk
	deaf    bool   // a sync has failed
}

// inside is a folder's content.
type inside struct {
	entries map[string]*node // as programs see them
	durable map[string]*node // as they are on the disk
	changes []change         // which make the one of the other
	touched []string         // names that came or went, ever
}

// change is one change of a folder: a name loses its node, or gets one, or both.
type change struct {
	remove, set string
	node        *node
}

func (c change) apply(entries map[string]*node) map[string]*node {
	if entries == nil {
		entries = make(map[string]*node)
	}
	delete(entries, c.remove)
	if c.set != "" {
		entries[c.set] = c.node
	}
	return entries
}

func (in *inside) change(c change) {
	in.entries = c.apply(in.entries)
	in.changes = append(in.changes, c)
	for _, name := range []string{c.remove, c.set} {
		if name != "" {
			in.touched = append(in.touched, name)
		}
	}
}

func (in *inside) sync() { in.durable, in.changes = maps.Clone(in.entries), nil }

// Clone returns a copy of the disk as it is, without its processes.
func (d *Disk) Clone(pick func(n int) int) *Disk {
	copies := make(map[*node]*node)
	var deep func(*node) *node
	all := func(entries map[string]*node) map[string]*node {
		if entries == nil {
			return nil
		}
		c := make(map[string]*node, len(entries))
		for name, n := range entries {
			c[name] = deep(n)
		}
		return c
	}
	deep = func(n *node) *node {
		if n == nil || copies[n] != nil {
			return copies[n]
		}
		c := *n
		copies[n], c.locked = &c, nil
		if n.inside != nil {
			c.inside = &inside{entries: all(n.inside.entries), durable: all(n.inside.durable)}
			for _, ch := range n.inside.changes {
				ch.node = deep(ch.node)
				c.inside.changes = append(c.inside.changes, ch)
			}
		}
		return &c
	}
	return &Disk{Pick: pick, root: deep(d.root), clock: d.clock}
}

// LosePower takes away unsynced changes, as pick chooses, and reports whether there
// was anything to take. Processes that end with the power are to be killed before.
func (d *Disk) LosePower(pick func(n int) int) (lost bool) {
	seen := make(map[*node]bool)
	var settle func(*node)
	settle = func(n *node) {
		if seen[n] {
			return
		}
		seen[n], n.locked, n.deaf = true, nil, false
		if in := n.inside; in != nil {
			entries := maps.Clone(in.durable)
			for _, c := range in.changes {
				if pick(2) == 0 {
					entries = c.apply(entries)
				} else {
					lost = true
				}
			}
			n.inside = &inside{entries: entries, durable: maps.Clone(entries)}
			for _, name := range slices.Sorted(maps.Keys(entries)) {
				settle(entries[name])
			}
			return
		}
		if n.changed == n.stamped {
			return
		}
		changed := []int64{n.changed, n.stamped}[pick(2)]
		switch half := len(n.content) / 2; pick(3) {
		case 1:
			n.content, lost = slices.Concat(n.content[:half], n.synced[min(half, len(n.synced)):]), true
		case 2:
			n.content, lost = n.synced, true
		}
		n.changed = changed
		n.sync()
	}
	settle(d.root)
	return lost
}

// sync puts a file's content on the disk.
func (n *node) sync() { n.synced, n.stamped = n.content, n.changed }

// write replaces the content from its beginning. Slices are never changed, only replaced.
func (d *Disk) write(n *node, content []byte) {
	n.content = slices.Concat(content, n.content[min(len(content), len(n.content)):])
	d.touch(n)
}

func (d *Disk) touch(n *node) {
	d.clock++
	n.changed = d.clock
}

// number gives a new node the lowest inode number that is free.
func (d *Disk) number(n *node) *node {
	var used []uint64
	var mark func(*node)
	mark = func(n *node) {
		used = append(used, n.inode)
		if n.inside == nil {
			return
		}
		for _, entries := range []map[string]*node{n.inside.entries, n.inside.durable} {
			for _, child := range entries {
				mark(child)
			}
		}
	}
	mark(d.root)
	for _, o := range d.opened {
		used = append(used, o.inode)
	}
	slices.Sort(used)
	n.inode = 1
	for _, number := range used {
		if number == n.inode {
			n.inode++
		}
	}
	d.touch(n)
	if n.inside == nil {
		n.stamped = n.changed
	}
	return n
}

// find returns the node at a path.
func (d *Disk) find(at string) (*node, error) {
	n := d.root
	if at == "." {
		return n, nil
	}
	for name := range strings.SplitSeq(at, "/") {
		if n.inside == nil || n.inside.entries[name] == nil {
			return nil, &fs.PathError{Op: "find", Path: at, Err: fs.ErrNotExist}
		}
		n = n.inside.entries[name]
	}
	return n, nil
}

// folder returns the content of the folder at a path.
func (d *Disk) folder(at string) (*inside, error) {
	n, err := d.find(at)
	if err == nil && n.inside == nil {
		err = &fs.PathError{Op: "open folder", Path: at, Err: fs.ErrInvalid}
	}
	if err != nil {
		return nil, err
	}
	return n.inside, nil
}

// add puts a new node at a path.
func (d *Disk) add(at string, n *node) error {
	in, err := d.folder(path.Dir(at))
	if err != nil {
		return err
	}
	name := path.Base(at)
	if in.entries[name] != nil {
		return &fs.PathError{Op: "create", Path: at, Err: fs.ErrExist}
	}
	in.change(change{set: name, node: d.number(n)})
	return nil
}

func (d *Disk) rename(from, to string) error {
	in, err := d.folder(path.Dir(from))
	if err != nil {
		return err
	}
	n, err := d.find(from)
	if err != nil {
		return err
	}
	if path.Dir(to) != path.Dir(from) {
		return &fs.PathError{Op: "rename", Path: to, Err: errors.ErrUnsupported}
	}
	if there := in.entries[path.Base(to)]; there != nil && there.inside != nil && len(there.inside.entries) > 0 {
		return &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
	}
	d.touch(n)
	if n.inside == nil && bytes.Equal(n.content, n.synced) {
		n.stamped = n.changed // a file system keeps both or neither; which of them is all the same
	}
	in.change(change{remove: path.Base(from), set: path.Base(to), node: n})
	return nil
}

func (d *Disk) remove(at string) error {
	n, err := d.find(at)
	if err != nil {
		return err
	}
	if n.inside != nil && len(n.inside.entries) > 0 {
		return &fs.PathError{Op: "remove", Path: at, Err: fs.ErrExist}
	}
	in, err := d.folder(path.Dir(at))
	if err == nil {
		in.change(change{remove: path.Base(at)})
	}
	return err
}

// stamp returns a time of change that a program can compare.
func (n *node) stamp() time.Time { return time.Unix(0, n.changed).UTC() }
