package journal

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/disk"
	"snowfence.example/snowfence/internal/disk/modeldisk"
)

var errDisk = errors.New("input/output error")

// machine is a computer with a disk that is made up.
type machine struct {
	disk *modeldisk.Disk
	lies lies
}

func newMachine() *machine {
	return &machine{disk: modeldisk.New(rand.New(rand.NewPCG(9, 10)).IntN)}
}

func (m *machine) clone() *machine {
	c := *m
	c.disk = m.disk.Clone(m.disk.Pick)
	return &c
}

// losePower leaves the boot id as it is: else every page would be refused for that, and nothing would show what is on
// the disk.
func (m *machine) losePower(random *rand.Rand) { m.disk.LosePower(random.IntN) }

// put writes a file as another program does: in place, or a new one that may get the same
// number.
func (m *machine) put(t *testing.T, name string, content []byte, anew bool) {
	t.Helper()
	p := m.disk.Process()
	f, err := p.Open(name)
	if anew {
		err = errors.Join(p.Remove(name), p.Sync("."))
		if err == nil {
			f, err = p.Create(name)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Write(content), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) remove(t *testing.T, name string) {
	t.Helper()
	if err := m.disk.Process().Remove(name); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := m.disk.Process().Read(name, maxFile)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// process is a process of a machine, which dies at a step, or a step fails.
type process struct {
	*modeldisk.Process
	killAt  int
	failAt  int
	between func() // something happens before each step
	trace   []string
}

// open opens the machine's journal in a new process.
func open(m *machine) (*Journal, *process, error) {
	p := &process{Process: m.disk.Process()}
	j, err := OpenOn(lying{p, m.lies, new(int)}, "/simulated", Place{Boot: "b"})
	p.Before = p.before
	return j, p, err
}

// start opens the machine's journal in a new process.
func start(t *testing.T, m *machine) (*Journal, *process) {
	t.Helper()
	j, p, err := open(m)
	if err != nil {
		t.Fatal(err)
	}
	return j, p
}

// living is a new process that has taken the machine's page, and kept others.
func living(t *testing.T, m *machine, pages ...string) (*Journal, *process) {
	t.Helper()
	j, p := start(t, m)
	life(j, pages...)
	return j, p
}

func (p *process) before(step string) modeldisk.Fault {
	if p.between != nil {
		p.between()
	}
	p.trace = append(p.trace, step)
	switch len(p.trace) {
	case p.killAt:
		return modeldisk.Fault{Kill: true}
	case p.failAt:
		return modeldisk.Fault{Err: errDisk}
	}
	return modeldisk.Fault{}
}

// lies are the ways in which a disk is worse than the model.
type lies struct {
	unlocked bool                        // the lock keeps nobody out, as flock where each host has its own
	deaf     int                         // from that fsync of a file on none does anything, and each reports that it did
	stamp    func(disk.Stamp) disk.Stamp // the stamp that is shown
}

// lying is a folder that lies.
type lying struct {
	disk.Folder
	lies  lies
	syncs *int // counts the fsyncs of files
}

func (l lying) Open(name string) (disk.File, error) {
	f, err := l.Folder.Open(name)
	return lyingFile{f, l}, err
}

func (l lying) Create(name string) (disk.File, error) {
	f, err := l.Folder.Create(name)
	return lyingFile{f, l}, err
}

func (l lying) Stat(name string) (disk.Info, error) { return l.shown(l.Folder.Stat(name)) }

func (l lying) shown(info disk.Info, err error) (disk.Info, error) {
	if err == nil && l.lies.stamp != nil {
		info.Stamp = l.lies.stamp(info.Stamp)
	}
	return info, err
}

type lyingFile struct {
	disk.File
	folder lying
}

func (f lyingFile) Stat() (disk.Info, error) { return f.folder.shown(f.File.Stat()) }

func (f lyingFile) TryLock() (bool, error) {
	if f.folder.lies.unlocked {
		return true, nil
	}
	return f.File.TryLock()
}

func (f lyingFile) Sync() error {
	*f.folder.syncs++
	if deaf := f.folder.lies.deaf; deaf > 0 && *f.folder.syncs >= deaf {
		return nil
	}
	return f.File.Sync()
}

// changedAt returns stamps with another time of change.
func changedAt(changed func(time.Time) time.Time) func(disk.Stamp) disk.Stamp {
	return func(s disk.Stamp) disk.Stamp {
		s.Changed = changed(s.Changed)
		return s
	}
}
