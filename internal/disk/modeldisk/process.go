package modeldisk

import (
	"errors"
	"maps"
	"slices"

	"snowfence.example/snowfence/internal/disk"
)

// A Fault is the failure of a step.
type Fault struct {
	Err  error // nil for a step that works
	Done bool  // the step has its effect all the same
	Kill bool  // the process ends, before the step or, if Done is set, after it
}

// Process is a process that has the disk's folder open. It implements [disk.Folder].
type Process struct {
	// Before is called before each step with the step's name, and may hold the step up. Nil
	// lets every step work.
	Before func(step string) Fault

	disk   *Disk
	dead   bool
	opened []*file
}

// Process returns a new process.
func (d *Disk) Process() *Process { return &Process{disk: d} }

// Kill ends the process: its locks are free, and its steps return ErrKilled.
func (p *Process) Kill() {
	p.dead = true
	for _, f := range slices.Clone(p.opened) {
		f.close()
	}
}

// Dead reports whether the process has ended.
func (p *Process) Dead() bool { return p.dead }

// Locks returns how many files the process has locked.
func (p *Process) Locks() (n int) {
	for _, f := range p.opened {
		if f.node.locked == p {
			n++
		}
	}
	return n
}

// step makes one step. f is its effect, and partly the effect of one that fails half-way,
// or nil.
func (p *Process) step(name string, f func() error, partly func()) error {
	var fault Fault
	if !p.dead && p.Before != nil {
		fault = p.Before(name)
	}
	if p.dead {
		return ErrKilled
	}
	if fault.Kill && fault.Err == nil {
		fault.Err = ErrKilled
	}
	err := fault.Err
	switch {
	case err == nil:
		return f()
	case fault.Done:
		err = errors.Join(err, f())
	case partly != nil:
		partly()
	}
	if fault.Kill {
		p.Kill()
	}
	return err
}

// Read implements [disk.Folder].
func (p *Process) Read(path string, limit int) (content []byte, err error) {
	err = p.step("read", func() error {
		n, err := p.disk.find(path)
		if err == nil {
			content = append([]byte{}, n.content[:min(limit, len(n.content))]...) // never nil
		}
		return err
	}, nil)
	return content, err
}

// Create implements [disk.Folder].
func (p *Process) Create(path string) (disk.File, error) {
	n := &node{}
	return p.open(n, p.step("create", func() error { return p.disk.add(path, n) }, nil))
}

// Open implements [disk.Folder].
func (p *Process) Open(path string) (disk.File, error) {
	var n *node
	return p.open(n, p.step("open", func() (err error) {
		n, err = p.disk.find(path)
		if err == nil && (n.link || n.inside != nil) {
			err = errors.ErrUnsupported
		}
		return err
	}, nil))
}

func (p *Process) open(n *node, err error) (disk.File, error) {
	if err != nil {
		return nil, err
	}
	f := &file{p, n}
	p.opened, p.disk.opened = append(p.opened, f), append(p.disk.opened, n)
	return f, nil
}

// Names implements [disk.Folder].
func (p *Process) Names(path string) (names []string, err error) {
	var in *inside
	var before int
	shown := make(map[string]bool)
	err = p.step("list", func() (err error) {
		if in, err = p.disk.folder(path); err == nil {
			before = len(in.touched)
			for name := range in.entries {
				shown[name] = true
			}
		}
		return err
	}, nil)
	if err != nil {
		return nil, err
	}
	err = p.step("listed", func() error {
		touched := slices.Clone(in.touched[before:])
		slices.Sort(touched)
		for _, name := range slices.Compact(touched) {
			shown[name] = p.disk.Pick(2) == 0
		}
		maps.DeleteFunc(shown, func(_ string, shows bool) bool { return !shows })
		names = slices.Sorted(maps.Keys(shown))
		return nil
	}, nil)
	return names, err
}

// Stat implements [disk.Folder].
func (p *Process) Stat(path string) (info disk.Info, err error) {
	err = p.step("stat", func() error {
		n, err := p.disk.find(path)
		if err == nil {
			info = n.info()
		}
		return err
	}, nil)
	return info, err
}

func (n *node) info() disk.Info {
	return disk.Info{Stamp: disk.Stamp{Inode: n.inode, Changed: n.stamp()}, Link: n.link}
}

// Rename implements [disk.Folder]. Both paths are in one folder.
func (p *Process) Rename(from, to string) error {
	return p.step("rename", func() error { return p.disk.rename(from, to) }, nil)
}

// Remove implements [disk.Folder].
func (p *Process) Remove(path string) error {
	return p.step("remove", func() error { return p.disk.remove(path) }, nil)
}

// Mkdir implements [disk.Folder].
func (p *Process) Mkdir(path string) error {
	return p.step("mkdir", func() error { return p.disk.add(path, &node{inside: &inside{}}) }, nil)
}

// Symlink implements [disk.Folder].
func (p *Process) Symlink(_, path string) error {
	return p.step("symlink", func() error { return p.disk.add(path, &node{link: true}) }, nil)
}

// Sync implements [disk.Folder]. Only a fault fails it with [disk.ErrSync].
func (p *Process) Sync(path string) error {
	in, missing := p.disk.folder(path)
	err := p.step("sync folder", func() error {
		if in, missing = p.disk.folder(path); missing == nil {
			in.sync()
		}
		return nil
	}, nil)
	if err != nil && !p.dead {
		return errors.Join(disk.ErrSync, err)
	}
	return errors.Join(err, missing)
}

// SyncAncestors implements [disk.Folder].
func (p *Process) SyncAncestors() error {
	return p.step("sync ancestors", func() error { return nil }, nil)
}

// Same implements [disk.Folder].
func (p *Process) Same() (bool, error) { return true, nil }

// Close implements [disk.Folder]. Files stay open.
func (p *Process) Close() error { return nil }

// file is an open file.
type file struct {
	process *Process
	node    *node
}

func (f *file) Write(content []byte) error {
	d := f.process.disk
	return f.process.step("write", func() error {
		d.write(f.node, content)
		return nil
	}, func() { d.write(f.node, content[:len(content)/2]) })
}

func (f *file) Sync() error {
	err := f.process.step("sync file", func() error {
		if !f.node.deaf {
			f.node.sync()
		}
		return nil
	}, nil)
	if err != nil && !f.process.dead {
		f.node.deaf = true
	}
	return err
}

func (f *file) Stat() (info disk.Info, err error) {
	err = f.process.step("stat file", func() error {
		info = f.node.info()
		return nil
	}, nil)
	return info, err
}

func (f *file) TryLock() (locked bool, err error) {
	err = f.process.step("lock", func() error {
		locked = f.node.locked == nil
		if locked {
			f.node.locked = f.process
		}
		return nil
	}, nil)
	return locked, err
}

// Close is no step, but where the file is locked.
func (f *file) Close() error {
	if f.node.locked != f.process {
		f.close()
		return nil
	}
	return f.process.step("unlock", func() error {
		f.close()
		return nil
	}, nil)
}

func (f *file) close() {
	p := f.process
	if f.node.locked == p {
		f.node.locked = nil
	}
	p.opened = slices.DeleteFunc(p.opened, func(o *file) bool { return o == f })
	if i := slices.Index(p.disk.opened, f.node); i >= 0 {
		p.disk.opened = slices.Delete(p.disk.opened, i, i+1)
	}
}
