package drive

import (
	"context"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
)

// Journal is the driver's part of a journal; package fence has its promises.
type Journal interface {
	Take() ([]byte, error)
	Keep(page []byte) error
	Discard() error
}

// Disk carries out the requests to a journal, one after the other, beside the goroutine
// that owns it. So a slow disk holds up the journal's bound, and nothing more.
type Disk struct {
	journal Journal
	store   string             // the name of the store, for pages
	written <-chan lease.Event // the answer to the last request
	turn    <-chan struct{}    // closed when it is idle again
	hangs   bool               // an earlier request, which was given up, has not ended
}

// NewDisk returns an idle disk for the pages of the store with that name.
func NewDisk(j Journal, store string) *Disk {
	turn := make(chan struct{})
	close(turn)
	return &Disk{journal: j, store: store, turn: turn}
}

// Written yields the answer to the last request.
func (d *Disk) Written() <-chan lease.Event { return d.written }

// Do carries out a [lease.Keep] or [lease.Discard] after the one under way. A request that
// was given up also ends first; its answer is useless then.
func (d *Disk) Do(request lease.Request) {
	written := make(chan lease.Event, 1) // room for an answer that is not awaited
	turn := make(chan struct{})
	previous := d.turn
	d.written, d.turn, d.hangs = written, turn, false
	select {
	case <-previous:
	default:
		d.hangs = true
	}
	go func() {
		<-previous
		event := d.write(request)
		close(turn)
		written <- event
	}()
}

func (d *Disk) write(request lease.Request) lease.Event {
	switch r := request.(type) {
	case lease.Keep:
		r.Page.Store = d.store
		page, err := r.Page.Encode()
		if err == nil {
			err = d.journal.Keep(page)
		}
		return lease.Written{ID: r.ID, Err: err}
	case lease.Discard:
		return lease.Written{ID: r.ID, Err: d.journal.Discard()}
	}
	return nil
}

// Rest waits until the disk is idle, unless it hangs.
func (d *Disk) Rest() {
	if !d.hangs {
		<-d.turn
	}
}

// await returns the result of a call. It returns the error late when the call takes longer
// than limit, and the context's error when that ends. Then the call is left to end by
// itself.
func await[T any](ctx context.Context, clock snowfence.Clock, limit time.Duration, late error, call func() (T, error)) (T, error) {
	expired, stop := clock.After(limit)
	defer stop()
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1) // room for an answer that is not awaited
	go func() {
		value, err := call()
		answers <- answer{value, err}
	}()
	var none T
	select {
	case a := <-answers:
		return a.value, a.err
	case <-expired:
		return none, late
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}
