package counter

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/lease/drive"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// written is a write that took effect.
type written struct {
	effect string // its name in the record's history
	acked  time.Duration
}

// write changes the record, once. The change is computed from the record as it is, again for
// each try that another process's write has prevented. It returns when the write is known to
// have taken effect, or with the store's error when that has lasted for a request timeout, or half of max-wait.
func (r *register) write(ctx context.Context, change func(*stored.Counter) error) (written, error) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return written{}, context.Cause(ctx)
	}
	var last error // of the store
	limit := r.Clock.Monotonic() + min(r.RequestTimeout, r.MaxWait/2)
	late := func() bool { return last != nil && r.Clock.Monotonic() > limit }
	for try := 0; ; try++ {
		if err := r.pause(ctx, try); err != nil {
			if last != nil {
				err = fmt.Errorf("%w: %w", err, last)
			}
			return written{}, err
		}
		if late() {
			return written{}, last
		}
		fresh := !r.known
		if fresh {
			reply := r.call(ctx, lease.Call{Verb: lease.Get, Key: r.key})
			if err := r.take(reply); err != nil {
				if last = err; final(err) && !errors.Is(err, errGone) { // that one may be a late read
					return written{}, err
				}
				continue
			}
		}
		next := r.record
		next.Lanes, next.Waits, next.Waiting = slices.Clone(next.Lanes), false, r.waiting()
		if err := change(&next); err != nil {
			if fresh {
				return written{}, err
			}
			r.known = false // it may not hold any more
			continue
		}
		value, err := r.sign(&next)
		if err != nil {
			return written{}, err
		}
		outlook, reply := drive.Settle(lease.Write{Key: r.key, Guard: r.version, Value: value},
			func(c lease.Call) lease.Reply { return r.call(ctx, c) },
			func(_ lease.Outlook, reply lease.Reply) error {
				if last = reply.Err; final(last) || late() {
					return last
				}
				try++
				return r.pause(ctx, try-1)
			})
		switch outlook {
		case lease.Landed:
			r.hold(reply.Landed(), next)
			return written{r.record.Effect(r.version).Effect, r.Clock.Monotonic()}, nil
		case lease.Missed:
			if err := r.take(reply); err != nil && final(err) && !errors.Is(err, errGone) {
				return written{}, err
			}
		default:
			r.known = false
			if final(last) {
				return written{}, last
			}
		}
	}
}

// sign completes a record that is to be written.
func (r *register) sign(c *stored.Counter) (value []byte, err error) {
	if c.Write, err = r.random(8); err != nil {
		return nil, err
	}
	c.Clock, c.Process, c.Limit = r.Clock.Wall(), r.Process, r.Limit
	c.Unsettled = c.Unsettled && r.loss > 0
	c.Writer, c.Writers = "", nil // of an earlier version
	return c.Encode()
}

// take takes a read's content. An absent record is a new one, but not after a settled one.
func (r *register) take(reply lease.Reply) error {
	r.known = false
	switch {
	case reply.Outcome == lease.Absent && r.incarnation == "" && r.Existing:
		return stored.Gone("counter " + r.Name + " of namespace " + r.Namespace)
	case reply.Outcome == lease.Absent && r.incarnation == "":
		incarnation, err := r.random(16)
		if err != nil {
			return err
		}
		r.version = ""
		r.record = stored.Counter{
			Kind: r.kind, Incarnation: incarnation, Unsettled: r.loss > 0, Start: r.Start, Increment: r.Increment,
			Zone: r.zone, Digits: r.digits, Created: r.Clock.Wall(),
		}
		if r.kind != stored.Daily {
			r.record.Lanes = []stored.Lane{{Next: r.Start}}
		}
	case reply.Outcome == lease.Absent:
		return fmt.Errorf("%w: counter %s", errGone, r.Name)
	case reply.Outcome != lease.Found:
		return fmt.Errorf("read counter %s: %w", r.Name, reply.Err)
	default:
		record, err := stored.DecodeCounter(reply.Entry.Value)
		if err == nil {
			err = r.fits(record)
		}
		if err != nil {
			return err
		}
		r.hold(reply.Entry.Version, record)
	}
	r.known = true
	return nil
}

// hold takes the record as it was read or written. From when it is settled on, no other one is taken.
func (r *register) hold(version store.Version, c stored.Counter) {
	r.version, r.record = version, c
	if !c.Unsettled {
		r.incarnation = c.Incarnation
	}
	r.seen.Store(&c)
}

// fits returns an error unless the record is this counter's.
func (r *register) fits(c stored.Counter) error {
	for _, f := range []struct{ field, stored, configured string }{
		{"kind", c.Kind, r.kind},
		{"start", strconv.FormatInt(c.Start, 10), strconv.FormatInt(r.Start, 10)},
		{"increment", strconv.FormatInt(c.Increment, 10), strconv.FormatInt(r.Increment, 10)},
		{"zone", c.Zone, r.zone},
		{"digits", strconv.Itoa(c.Digits), strconv.Itoa(r.digits)},
	} {
		if f.stored != f.configured {
			return &MismatchError{r.Name, f.field, f.stored, f.configured}
		}
	}
	if r.incarnation != "" && c.Incarnation != r.incarnation {
		return fmt.Errorf("%w: counter %s has incarnation %s, before %s", ErrReplaced, r.Name, c.Incarnation, r.incarnation)
	}
	return nil
}

// final reports whether retries are useless after an error.
func final(err error) bool {
	switch snowfence.ClassOf(err) {
	case snowfence.ClassUnknown, snowfence.ClassUnavailable:
		return errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrClosed)
	}
	return true
}

// call makes one call to the store, within the request timeout.
func (r *register) call(ctx context.Context, c lease.Call) lease.Reply {
	ctx, cancel := context.WithTimeoutCause(ctx, r.RequestTimeout, drive.ErrTimeout)
	defer cancel()
	return drive.Ask(ctx, r.Store, c)
}

// pause waits before a try: not before the first two, then for up to 5 ms, and longer after
// each until a quarter of a second. Each wait is by chance, so that processes that met don't
// meet again.
func (r *register) pause(ctx context.Context, try int) error {
	if err := context.Cause(ctx); err != nil || try < 2 {
		return err
	}
	most := min(5*time.Millisecond<<min(try-2, 6), 250*time.Millisecond)
	var chance [2]byte
	if _, err := io.ReadFull(r.Rand, chance[:]); err != nil {
		return fmt.Errorf("read random bytes: %w", err)
	}
	return sleep(ctx, r.Clock, most*time.Duration(binary.BigEndian.Uint16(chance[:]))>>16)
}

// random returns n random bytes in hexadecimal.
func (r *register) random(n int) (string, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(r.Rand, b); err != nil {
		return "", fmt.Errorf("read random bytes: %w", err)
	}
	return hex.EncodeToString(b), nil
}

// sleep waits for d. It returns ctx's cause if that ends first.
func sleep(ctx context.Context, clock snowfence.Clock, d time.Duration) error {
	expired, stop := clock.After(d)
	defer stop()
	select {
	case <-expired:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
