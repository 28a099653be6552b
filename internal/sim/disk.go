package sim

import (
	"errors"
	"math/rand/v2"
	"time"

	"snowfence.example/snowfence/fence/lease"
)

var errDisk = errors.New("the disk failed")

// sheet is a page as it lies on a disk. A copy of it is another sheet.
type sheet struct {
	page   lease.Page
	copied bool
}

// disk is a node's disk as far as the journal goes. What package journal does
// on a real one is one step here: it shows the page that was kept last, it shows
// it once, and it does not show a copy. A page reaches the disk late, or not at
// all, and a machine that loses its power may lose what was not fsynced.
type disk struct {
	n       *node
	rng     *rand.Rand
	shown   *sheet // what a process would read now
	durable *sheet // what is left for certain when the power fails
	copy    *sheet // what somebody copied at some time
	broken  bool   // for this process
	writing *lease.Keep
}

// fails is true as often as the plan's disks fail, or several times as often.
func (d *disk) fails(times int) bool {
	p := d.n.w.plan.Weather.Disk
	return !d.n.w.quiet && p > 0 && d.rng.IntN(1000) < p*times
}

// take consumes the page for a process that starts. A disk that can't is of no
// use to that process.
func (d *disk) take() (page *lease.Page, usable bool) {
	w := d.n.w
	if d.broken = d.fails(2); d.broken {
		w.struck(DiskFailed, d.n.index, "%s can't take its page", d.n.host)
		return nil, false
	}
	found := d.shown
	if w.bugs.disk != consumesLate {
		d.shown, d.durable = nil, nil
	}
	switch {
	case found == nil:
		return nil, true
	case found.copied && w.bugs.disk != acceptsCopies:
		return nil, true
	}
	taken := found.page
	if w.bugs.disk == resumesBelow {
		taken.Used = max(taken.Register.Floor, taken.Used-50)
	}
	return &taken, true
}

// somebodyCopies copies the page, whether or not a process is writing it.
func (d *disk) somebodyCopies() {
	w := d.n.w
	if w.quiet || w.plan.Weather.Disk == 0 {
		return
	}
	if d.shown != nil {
		d.copy = &sheet{page: d.shown.page, copied: true}
	}
	w.agenda.After(upTo(d.rng, 20*w.plan.beat()), d.somebodyCopies)
}

// crash is what becomes of the disk when the process or the machine dies.
// Somebody may restore an earlier copy then.
func (d *disk) crash(power bool) {
	w := d.n.w
	if d.writing != nil && chance(d.rng, 50) {
		d.shown = &sheet{page: d.writing.Page}
	}
	d.writing = nil
	if power && chance(d.rng, 50) && d.shown != d.durable {
		w.struck(PageLost, d.n.index, "%s loses what was not synced", d.n.host)
		d.shown = d.durable
	}
	if power {
		d.durable = d.shown
	}
	if d.copy != nil && !w.quiet && chance(d.rng, 30) {
		w.struck(PageCopied, d.n.index, "%s finds a copy of an earlier page", d.n.host)
		d.shown, d.durable = d.copy, d.copy
	}
}

// keep writes a page: it may be seen before it is durable, and the process hears
// of it later still.
func (d *disk) keep(r lease.Keep) {
	n, w := d.n, d.n.w
	d.writing = &r
	takes, fails := upTo(d.rng, w.plan.latency()), d.broken
	switch {
	case d.fails(1):
		fails = true
		d.broken = chance(d.rng, 80)
	case d.fails(1):
		takes = upTo(d.rng, 20*w.plan.ahead())
		w.struck(DiskHung, n.index, "the disk of %s takes %s", n.host, takes)
	}
	d.process(takes, func() {
		d.writing = nil
		if fails {
			w.struck(DiskFailed, n.index, "%s can't keep its page", n.host)
			// Nobody knows what is there now; no later page will be tried.
			if chance(d.rng, 20) {
				d.shown = &sheet{page: r.Page}
			}
			if chance(d.rng, 50) {
				d.durable = d.shown
			}
			return
		}
		w.tally.Counts[Pages]++
		d.shown = &sheet{page: r.Page}
		d.durable = d.shown
	})
	n.soon(takes+time.Microsecond, func() {
		var err error
		if fails && w.bugs.disk != ignoresFailures {
			err = errDisk
		}
		n.step(lease.Kept{ID: r.ID, Err: err})
	})
}

// discard removes the page.
func (d *disk) discard(r lease.Discard) {
	n, w := d.n, d.n.w
	takes, fails := upTo(d.rng, w.plan.latency()), d.fails(4) || !w.quiet && d.broken && chance(d.rng, 60)
	late := w.bugs.disk == discardsLate
	gone := func() { d.shown, d.durable = nil, nil }
	d.process(takes, func() {
		switch {
		case fails:
			w.struck(DiskFailed, n.index, "%s can't remove its page", n.host)
		case !late:
			gone()
		}
	})
	if late {
		n.soon(w.plan.Window, gone)
	}
	n.soon(takes+time.Microsecond, func() {
		var err error
		if fails && w.bugs.disk != ignoresRemains {
			err = errDisk
		}
		n.step(lease.Discarded{ID: r.ID, Err: err})
	})
}

// process does something on the disk on behalf of the present process, also
// while that is stopped, but not after its end.
func (d *disk) process(in time.Duration, do func()) {
	process := d.n.process
	d.n.w.agenda.After(in, func() {
		if d.n.process == process && d.n.alive {
			do()
		}
	})
}
