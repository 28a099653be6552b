package sim

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"snowfence.example/snowfence/internal/journal"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/stored"
)

// nodeDisk is a node's disk for its journal: package journal itself, on a folder of a simulated disk. A
// call of the journal takes a while, and the process may die meanwhile; then any part of the call is
// done. The process's own view of the folder is in folder.go.
type nodeDisk struct {
	n      *node
	rng    *rand.Rand
	volume *volume
	copy   map[string][]byte // an earlier copy of the files

	// Of the present process:
	folder  *openFolder
	journal *journal.Journal
	calls   []func() // the calls under way
	free    time.Duration
}

// fails is true as often as the plan's disks fail, or several times as often.
func (d *nodeDisk) fails(times int) bool {
	p := d.n.w.plan.Weather.Disk
	return !d.n.w.quiet && p > 0 && d.rng.IntN(1000) < p*times
}

// take consumes the page for a process that starts. usable is false if the disk fails.
func (d *nodeDisk) take() (page *stored.Page, usable bool) {
	n, w := d.n, d.n.w
	d.folder, d.calls, d.free = d.volume.open(d.rng, w.bugs.disk), nil, 0
	j, err := journal.OpenOn(d.folder, n.host, journal.Place{Boot: "one"})
	if err != nil {
		w.breaks("harness", "%s: %v", n.host, err)
		return nil, false
	}
	d.journal = j
	if d.fails(2) {
		d.folder.fails = 1 + d.rng.IntN(6)
	}
	before := d.volume.Clone(d.volume.Pick)
	text, err := j.Take()
	d.folder.fails = 0
	if w.bugs.disk == consumesLate {
		*d.volume.Disk = *before
	}
	switch {
	case errors.Is(err, stored.ErrJournalRefused):
		w.tally.Counts[Refused]++
		w.tell("%s: %v", n.host, err)
		return nil, true
	case err != nil:
		w.struck(DiskFailed, n.index, "%s can't take its page: %v", n.host, err)
		return nil, false
	case text == nil:
		return nil, true
	}
	taken, err := stored.DecodePage(text)
	if err != nil {
		w.breaks("harness", "%s: %v", n.host, err)
		return nil, false
	}
	if w.bugs.disk == resumesBelow {
		taken.Used = max(taken.Register.Floor, taken.Used-50)
	}
	return &taken, true
}

// somebodyMeddles copies the files, even while a process writes them, or removes one.
func (d *nodeDisk) somebodyMeddles() {
	w := d.n.w
	if w.quiet || w.plan.Weather.Disk == 0 {
		return
	}
	files, err := d.volume.files()
	if err != nil {
		w.breaks("harness", "%s: %v", d.n.host, err)
	}
	d.copy = files
	if names := slices.Sorted(maps.Keys(files)); len(names) > 0 && d.rng.IntN(1000) < 8 {
		name := names[d.rng.IntN(len(names))]
		w.struck(PageRemoved, d.n.index, "somebody removes %q of %s", name, d.n.host)
		if err := d.volume.Process().Remove(name); err != nil {
			w.breaks("harness", "%s: %v", d.n.host, err)
		}
	}
	w.agenda.After(upTo(d.rng, 20*w.plan.beat()), d.somebodyMeddles)
}

// crash applies the death of the process or the machine to the disk. Then somebody may restore
// an earlier copy, whole or in part.
func (d *nodeDisk) crash(power bool) {
	w := d.n.w
	if len(d.calls) > 0 && chance(d.rng, 50) {
		d.folder.dies = 1 + d.rng.IntN(12)
		d.calls[0]()
	}
	d.leave()
	if power && d.volume.losePower(d.rng) {
		w.struck(PageLost, d.n.index, "%s loses unsynced changes", d.n.host)
	}
	if len(d.copy) == 0 || w.quiet || !chance(d.rng, 30) {
		return
	}
	w.struck(PageCopied, d.n.index, "%s finds a copy of earlier files", d.n.host)
	all := chance(d.rng, 50)
	for _, name := range slices.Sorted(maps.Keys(d.copy)) {
		if all || chance(d.rng, 50) {
			if err := d.volume.put(name, d.copy[name]); err != nil {
				w.breaks("harness", "%s: %v", d.n.host, err)
			}
		}
	}
}

// leave is the end of the process.
func (d *nodeDisk) leave() {
	if d.journal != nil {
		d.folder.Kill()
	}
	d.calls = nil
}

// keep writes a page. Others may see the page before it is durable, and the process hears of the write
// later still.
func (d *nodeDisk) keep(r lease.Keep) {
	n, w := d.n, d.n.w
	takes, fails := upTo(d.rng, w.plan.latency()), d.fails(1)
	if !fails && d.fails(1) {
		takes = upTo(d.rng, 20*w.plan.ahead())
		w.struck(DiskHung, n.index, "the disk of %s takes %s", n.host, takes)
	}
	d.call(takes, keeping, r.ID, func() error {
		if fails {
			d.fail()
		}
		text, err := r.Page.Encode()
		if err == nil {
			err = d.journal.Keep(text)
		}
		if err == nil {
			w.tally.Counts[Pages]++
		}
		return err
	})
}

// fail lets the next call fail, most often at an fsync, and often some later changes, too. A machine whose disk
// fails is often switched off soon.
func (d *nodeDisk) fail() {
	if chance(d.rng, 60) {
		d.folder.failsSync = true
	} else {
		d.folder.fails = 1 + d.rng.IntN(9)
	}
	d.folder.worn = chance(d.rng, 50)
	if chance(d.rng, 30) {
		d.n.soon(upTo(d.rng, 4*d.n.w.plan.ahead()), func() {
			if !d.n.w.quiet {
				d.n.w.struck(Power, d.n.index, "%s", d.n.host)
				d.n.crash(true, upTo(d.rng, 5*d.n.w.plan.beat()))
			}
		})
	}
}

// discard removes the page.
func (d *nodeDisk) discard(r lease.Discard) {
	n, w := d.n, d.n.w
	fails := d.fails(4)
	d.call(upTo(d.rng, w.plan.latency()), discarding, r.ID, func() error {
		if fails {
			d.folder.fails = 1 + d.rng.IntN(4)
		}
		if w.bugs.disk == discardsLate {
			n.soon(w.plan.Window, func() { _ = d.journal.Discard() })
			return nil
		}
		return d.journal.Discard()
	})
}

// call lets the journal of the present process carry out a request, after its earlier calls. The call
// goes on while the process is stopped, and is dropped when the process ends.
func (d *nodeDisk) call(takes time.Duration, what diskCall, id uint64, do func() error) {
	n, w := d.n, d.n.w
	d.free = max(d.free, w.agenda.Now()) + takes
	in, process := d.free-w.agenda.Now(), n.process
	var err error
	act := func() {
		d.folder.doing = what
		if err = do(); err != nil && !d.folder.Dead() {
			w.struck(DiskFailed, n.index, "%s can't %s its page: %v", n.host, what, err)
		}
		d.folder.fails, d.folder.failsSync = 0, false
	}
	d.calls = append(d.calls, act)
	w.agenda.After(in, func() {
		if n.process == process && n.alive {
			d.calls = d.calls[1:]
			act()
		}
	})
	n.soon(in+time.Microsecond, func() {
		if bug := w.bugs.disk; bug == ignoresFailures && what == keeping || bug == ignoresRemains && what == discarding {
			err = nil
		}
		n.step(lease.Written{ID: id, Err: err})
	})
}
