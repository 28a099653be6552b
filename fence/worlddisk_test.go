package fence_test

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"snowfence.example/snowfence/fence/lease"
)

// worldAhead is how far ahead the journal's bound is moved.
const worldAhead = 20 * time.Millisecond

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
	shown   *sheet // what a process would read now
	durable *sheet // what is left for certain when the power fails
	copy    *sheet // what somebody copied at some time
	broken  bool   // for this process
	writing *lease.Keep
}

// take consumes the page for a process that starts. A disk that can't is of no
// use to that process.
func (d *disk) take() (*lease.Page, bool) {
	w := d.n.w
	if d.broken = !w.plan.quiet && w.chance(5); d.broken {
		w.tally.diskFailures++
		return nil, false
	}
	found := d.shown
	if w.mutant.disk != consumesLate {
		d.shown, d.durable = nil, nil
	}
	switch {
	case found == nil:
		return nil, true
	case found.copied:
		w.tally.copies++
		if w.mutant.disk != acceptsCopies {
			return nil, true
		}
	}
	page := found.page
	if w.mutant.disk == resumesBelow {
		page.Used = max(page.Register.Floor, page.Used-50)
	}
	return &page, true
}

// somebodyCopies copies the page, whether or not a process is writing it.
func (d *disk) somebodyCopies() {
	if d.n.w.plan.quiet {
		return
	}
	if d.shown != nil {
		d.copy = &sheet{page: d.shown.page, copied: true}
	}
	d.n.w.after(d.n.w.upTo(200*time.Millisecond), d.somebodyCopies)
}

// somebodyRestores puts the last copy where the page was, while no process runs.
func (d *disk) somebodyRestores() {
	if d.copy != nil && d.n.w.chance(30) {
		d.shown, d.durable = d.copy, d.copy
	}
}

// crash is what becomes of the disk when the process or the machine dies.
func (d *disk) crash(power bool) {
	w := d.n.w
	if d.writing != nil && w.chance(50) {
		d.shown = &sheet{page: d.writing.Page}
	}
	d.writing = nil
	if power && w.chance(50) {
		d.shown = d.durable
	}
	if power {
		d.durable = d.shown
	}
}

// keep writes a page: it may be seen before it is durable, and the process hears
// of it later still.
func (d *disk) keep(r lease.Keep) {
	n, w := d.n, d.n.w
	d.writing = &r
	takes, fails := w.upTo(8*time.Millisecond), d.broken
	if !w.plan.quiet {
		switch dice := w.rng.IntN(1000); {
		case dice < 20:
			fails = true
			d.broken = w.chance(80)
		case dice < 30:
			takes = w.upTo(20 * worldAhead) // it hangs
		}
	}
	done := d.process(takes, func() {
		d.writing = nil
		if fails {
			w.tally.diskFailures++
			// Nobody knows what is there now; no later page will be tried.
			if w.chance(20) {
				d.shown = &sheet{page: r.Page}
			}
			if w.chance(50) {
				d.durable = d.shown
			}
			return
		}
		w.tally.kept++
		d.shown = &sheet{page: r.Page}
		d.durable = d.shown
	})
	n.soon(takes+done, func() {
		var err error
		if fails && w.mutant.disk != ignoresFailures {
			err = errDisk
		}
		n.step(lease.Kept{ID: r.ID, Err: err})
	})
}

// discard removes the page.
func (d *disk) discard(r lease.Discard) {
	n, w := d.n, d.n.w
	takes, fails := w.upTo(8*time.Millisecond), !w.plan.quiet && (w.chance(10) || d.broken && w.chance(60))
	late := w.mutant.disk == discardsLate
	done := d.process(takes, func() {
		if fails {
			w.tally.diskFailures++
			return
		}
		if !late {
			d.shown, d.durable = nil, nil
		}
	})
	if late {
		n.soon(worldWindow, func() { d.shown, d.durable = nil, nil })
	}
	n.soon(takes+done, func() {
		var err error
		if fails && w.mutant.disk != ignoresRemains {
			err = errDisk
		}
		n.step(lease.Discarded{ID: r.ID, Err: err})
	})
}

// process does something on the disk on behalf of the present process, also
// while that is stopped, but not after its end.
func (d *disk) process(in time.Duration, do func()) time.Duration {
	process := d.n.process
	d.n.w.after(in, func() {
		if d.n.process == process && d.n.alive {
			do()
		}
	})
	return time.Microsecond
}

// diskMutant is a bug of a journal, or around one.
type diskMutant uint8

const (
	_               diskMutant = iota
	consumesLate               // J2: the page is there until the next one is
	resumesBelow               // J3
	discardsLate               // J4: it says that the page is gone, and removes it later
	acceptsCopies              // J5
	ignoresFailures            // J6: a failed fsync counts as a good one
	ignoresRemains             // J6: a page that could not be removed counts as removed
)

// journalMutants are the bugs that a journal invites.
func journalMutants() []mutant {
	return []mutant{
		{name: "J1 the bound is moved after it was used", bend: useUnkept},
		{name: "J2 the page is consumed after ids were issued", bend: startUnkept, disk: consumesLate},
		{name: "J3 a term is resumed below what was used", disk: resumesBelow},
		{name: "J4 the release is sent before the journal is discarded", disk: discardsLate},
		{name: "J5 a copied page is taken", disk: acceptsCopies},
		{name: "J6 a failed fsync is ignored", disk: ignoresFailures},
		{name: "J6 the bound is passed though a failed page could not be removed", disk: ignoresRemains},
	}
}

// useUnkept lets the generator have all that is usable, so that the journal's
// bound follows what was used.
func useUnkept(n *node, _ lease.State, _ lease.Event, requests []lease.Request) []lease.Request {
	for _, request := range requests {
		if keep, ok := request.(lease.Keep); ok && n.issuer != nil {
			requests = append(slices.Clone(requests), lease.Extend{Until: keep.Page.Usable})
		}
	}
	return onward(n, requests)
}

// onward leaves out what a generator of a mutant has passed already.
func onward(n *node, requests []lease.Request) []lease.Request {
	return slices.DeleteFunc(slices.Clone(requests), func(request lease.Request) bool {
		extend, ok := request.(lease.Extend)
		return ok && n.issuer != nil && extend.Until < n.issuer.gen.Status().Until
	})
}

// startUnkept begins to issue a while before the first page is written.
func startUnkept(n *node, before lease.State, _ lease.Event, requests []lease.Request) []lease.Request {
	for i, request := range requests {
		switch r := request.(type) {
		case lease.Keep:
			if before.View().Phase == lease.Resuming && n.issuer == nil {
				n.start(lease.Start{Worker: r.Page.Worker, Term: r.Page.Register.Term, Floor: n.resumedAt, Until: r.Page.Usable})
				n.soon(5*worldAhead, func() { n.disk.keep(r) })
				requests = slices.Delete(slices.Clone(requests), i, i+1)
				return onward(n, requests)
			}
		case lease.Start:
			if n.issuer != nil && n.issuer.nonce == n.state.View().Register.Holder {
				requests[i] = lease.Extend{Until: n.issuer.gen.Status().Until}
			}
		}
	}
	return onward(n, requests)
}

// outOfReach takes the store away from everybody for a while.
func (w *world) outOfReach() {
	if w.plan.quiet {
		return
	}
	w.tally.outages++
	w.away = w.now + w.upTo(2*worldWindow)
	w.after(w.away-w.now+w.upTo(2*worldWindow), w.outOfReach)
}

// leave ends a release that the store does not answer, as Close does when its
// context ends.
func (n *node) leave() {
	if n.state.View().Phase == lease.Releasing {
		n.w.tally.left++
		n.end()
	}
}

// emptyOfJournals returns an error if journals played no part in the schedules.
func (t *tally) emptyOfJournals() error {
	if slices.Contains([]int{t.kept, t.resumed, t.alone, t.copies, t.diskFailures, t.outages, t.left, t.powerLosses}, 0) {
		return fmt.Errorf("the schedules have no journals: %+v", *t)
	}
	return nil
}
