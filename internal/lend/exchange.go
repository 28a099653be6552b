package lend

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

var (
	// ErrGone is wrapped by the error of a lease that is over for good: nothing may be minted under it.
	ErrGone = snowfence.NewError(snowfence.ClassLease, "snowfence: the lease is gone")

	// ErrMoved is wrapped, beside [ErrGone], if a copy of the borrower extends the lease.
	ErrMoved = snowfence.NewError(snowfence.ClassLease, "snowfence: a copy of the borrower extends the lease")
)

// Terms are a daemon's terms of lending.
type Terms struct {
	Config      lease.Config     // of the generator's holders, complete, without a pinned worker id
	Known       stored.Namespace // the record, as the daemon's own holder knows it
	Loss        time.Duration    // of the store
	EngineClock bool             // the store has a clock to judge borrowers by
	MaxBehind   time.Duration    // how far a borrower's clock may step back
}

func (t Terms) answer(l Lease, floor snowfence.Tick, mark string) Answer {
	return Answer{Lease: l, Mark: mark, Layout: t.Config.Layout, Window: t.Config.Window, Loss: t.Loss, Floor: floor, MaxBehind: t.MaxBehind}
}

// Step is a request's next need: a call to the store, a pause before the next look, or nothing more.
type Step struct {
	Call  lease.Call // none while its verb is 0
	Pause time.Duration
	Done  bool
	Err   error // why the request is refused, when it is done
}

// looks is how often a register that shows an older state is read before the lease counts as gone: the first looks may be
// late.
const looks = 5

// pause lies between two looks. So five last for half a second or more.
const pause = 150 * time.Millisecond

// Exchange is an extension or a release under way. Its write is guarded by the version in the lease, and so each of its
// copies, at this daemon or another, by the same one: at most one takes effect. The others find it by its mark. They answer
// with the bound that stands in the store, and never with one of their own.
type Exchange struct {
	terms    Terms
	borrower Borrower
	lease    Lease
	request  string          // its mark, as the borrower gave it
	mark     string          // as the register shows it
	open     string          // as the register shows it; of an extension that a release may find
	next     *snowfence.Tick // of a release
	release  bool
	clock    time.Time // for the register, judged; zero leaves the register's as it is

	phase    phase
	write    *lease.Write // once it was sent; only these bytes are sent again
	older    int          // looks that found an older state
	register stored.Register
	version  store.Version // of the register that stands
}

// phase is an exchange's present wait.
type phase uint8

const (
	starting     phase = iota
	judging            // the engine's clock
	looking            // the register
	swapping           // the outcome of the swap
	recollecting       // the namespace's record
)

// Extend begins an extension. A *[stored.ConfigError] is returned for a request that can't be right, and a
// *[lease.ClockError] for a clock that is too far off.
func (t Terms) Extend(e Extension, now time.Time) (*Exchange, error) {
	if err := cmp.Or(e.check(), checkMark("mark", e.Mark)); err != nil {
		return nil, err
	}
	if err := judge(e.Now, now, t.EngineClock); err != nil {
		return nil, err
	}
	x := &Exchange{terms: t, borrower: e.Borrower, lease: e.Lease, request: e.Mark, mark: e.Lease.mark(e.Mark, e.Borrower), clock: e.Now}
	return x, x.own()
}

// Release begins a release; now is the daemon's wall clock. A *[stored.ConfigError] is returned for a request that can't be
// right. A borrower's clock that is off or missing refuses no release. But other claims judge their clocks by those in
// registers, so it is not written.
func (t Terms) Release(r Release, now time.Time) (*Exchange, error) {
	if err := cmp.Or(r.check(), checkMark("mark", r.Mark)); err != nil {
		return nil, err
	}
	x := &Exchange{terms: t, borrower: r.Borrower, lease: r.Lease, mark: r.Lease.mark(r.Mark, r.Borrower), next: r.Next, release: true}
	if r.Now.Sub(now).Abs() <= stored.ClockTolerance {
		x.clock = r.Now
	}
	if r.Open != "" {
		if err := checkMark("open", r.Open); err != nil {
			return nil, err
		}
		x.open = r.Lease.mark(r.Open, r.Borrower)
	}
	return x, x.own()
}

// own returns an error for a lease of another namespace.
func (x *Exchange) own() error {
	if x.lease.incarnation() != x.terms.Known.Incarnation || x.lease.Worker >= x.terms.Config.Layout.Workers() {
		return fmt.Errorf("%w: it is of another namespace or another store, or the store was emptied", ErrGone)
	}
	return nil
}

// Next takes the answer to the call before, or the end of a pause, and returns the next step.
func (x *Exchange) Next(reply lease.Reply) Step {
	switch x.phase {
	case starting:
		if x.terms.EngineClock && !x.release {
			x.phase = judging
			return Step{Call: lease.Call{Verb: lease.Ask}}
		}
		return x.look()
	case judging:
		return x.judged(reply)
	case looking:
		return x.seen(reply)
	case swapping:
		return x.settled(reply)
	default:
		return x.recollected(reply)
	}
}

// look reads the register.
func (x *Exchange) look() Step {
	x.phase = looking
	return Step{Call: lease.Call{Verb: lease.Get, Key: x.key()}}
}

func (x *Exchange) key() string {
	return stored.RegisterKey(x.terms.Config.Namespace, x.terms.Config.Layout, x.lease.Worker)
}

// judged takes the engine's time.
func (x *Exchange) judged(reply lease.Reply) Step {
	if reply.Outcome != lease.Told {
		return x.again(reply, Step{Call: lease.Call{Verb: lease.Ask}})
	}
	if offset := x.borrower.Now.Sub(reply.Time); offset.Abs() > stored.ClockTolerance {
		return Step{Done: true, Err: &lease.ClockError{Offset: offset, Reference: "the store's clock"}}
	}
	return x.look()
}

// again repeats a call that failed, after a pause. Damage is final.
func (x *Exchange) again(reply lease.Reply, step Step) Step {
	if errors.Is(reply.Err, store.ErrDamaged) {
		return Step{Done: true, Err: reply.Err}
	}
	step.Pause = pause
	return step
}

// seen takes the register as it was read.
func (x *Exchange) seen(reply lease.Reply) Step {
	if reply.Outcome != lease.Found && reply.Outcome != lease.Absent {
		return x.again(reply, x.look())
	}
	return x.regard(reply)
}

// regard goes on from the register as it stands.
func (x *Exchange) regard(reply lease.Reply) Step {
	if reply.Outcome == lease.Absent {
		return x.outdated("its register is gone")
	}
	r, err := stored.DecodeRegister(reply.Entry.Value)
	switch holds := r.Holder == x.lease.Holder(); {
	case err != nil:
		return x.gone("its register can't be used: " + err.Error())
	case r.Quarantined:
		return x.gone("an operator has quarantined the worker id")
	case holds && reply.Entry.Version == x.lease.Version:
		return x.swap(r, x.lease.Version)
	case r.Write == x.mark && (holds && !x.release || x.release && r.Holder == ""): // an earlier try, or a copy, has landed
		x.register, x.version = r, reply.Entry.Version
		return x.landed()
	case holds && x.open != "" && r.Write == x.open:
		return x.swap(r, reply.Entry.Version)
	case r.Incarnation != x.lease.incarnation():
		return x.gone("its register is of another incarnation of the namespace")
	case r.Term < x.lease.Term, holds && r.Until < x.lease.Until:
		return x.outdated("the store shows an older state than the lease")
	case holds:
		return Step{Done: true, Err: fmt.Errorf("%w: %w: the worker id stays with whoever extends it first", ErrGone, ErrMoved)}
	}
	return x.gone("the worker id was released, or is another holder's")
}

// outdated looks again at a register that shows an older state, which a late read can do.
func (x *Exchange) outdated(why string) Step {
	if x.older++; x.older >= looks {
		return x.gone(why)
	}
	step := x.look()
	step.Pause = pause
	return step
}

func (x *Exchange) gone(why string) Step {
	return Step{Done: true, Err: fmt.Errorf("%w: %s", ErrGone, why)}
}

// swap sends the write, guarded by the version at which the register was read.
func (x *Exchange) swap(r stored.Register, guard store.Version) Step {
	if x.write == nil || x.write.Guard != guard {
		next, err := x.change(r)
		if err != nil {
			return Step{Done: true, Err: err}
		}
		if next.Write = x.mark; !x.clock.IsZero() {
			next.Clock = x.clock
		}
		value, err := next.Encode()
		if err != nil {
			return Step{Done: true, Err: fmt.Errorf("write the register of worker %d: %w", x.lease.Worker, err)}
		}
		x.register, x.write = next, &lease.Write{Key: x.key(), Guard: guard, Value: value}
	}
	x.phase = swapping
	return Step{Call: x.write.Swap()}
}

// change returns the register as it is to be.
func (x *Exchange) change(r stored.Register) (stored.Register, error) {
	config := &x.terms.Config
	if !x.release {
		return r.Extended(config.Layout, x.borrower.Now, config.Window, x.borrower.process()), lease.CheckTime(config.Layout, x.borrower.Now)
	}
	if x.next == nil {
		return r.Released(r.Until), nil
	}
	// It is the one number of a borrower that can make equal ids at another one.
	limit := fmt.Sprintf("must be from the lease's floor to its bound, %d to %d: or leave it out", r.Floor, r.Until)
	return r.Released(*x.next), stored.RefuseIf(*x.next < r.Floor || *x.next > r.Until, "next", *x.next, limit)
}

// settled takes the answers while the outcome of the swap is open.
func (x *Exchange) settled(reply lease.Reply) Step {
	switch x.write.Settle(reply) {
	case lease.Landed:
		x.version = reply.Landed()
		return x.landed()
	case lease.Unsent:
		return Step{Call: x.write.Swap(), Pause: pause}
	case lease.Missed:
		// A copy of this request with other bytes may have landed: its mark decides.
		return x.regard(reply)
	}
	return x.again(reply, Step{Call: lease.Call{Verb: lease.Get, Key: x.key()}})
}

// landed goes on with the register that stands. An extension reads the record, so that a borrower of a namespace that was
// emptied and made anew mints for a third of a window at most.
func (x *Exchange) landed() Step {
	if x.release {
		return Step{Done: true}
	}
	x.phase = recollecting
	return Step{Call: lease.Call{Verb: lease.Get, Key: stored.NamespaceKey(x.terms.Config.Namespace)}}
}

// recollected takes the record.
func (x *Exchange) recollected(reply lease.Reply) Step {
	switch reply.Outcome {
	case lease.Found:
	case lease.Absent:
		return Step{Done: true, Err: errors.New("the namespace's record is gone: no bound is given until it is back")}
	default:
		return x.again(reply, x.landed())
	}
	n, err := stored.DecodeNamespace(reply.Entry.Value)
	if err != nil {
		return Step{Done: true, Err: err}
	}
	if n.Incarnation != x.register.Incarnation || n.Layout != x.register.Layout {
		return x.gone("the namespace was replaced in the store")
	}
	return Step{Done: true}
}

// Answer is that of an extension that is done without an error: with the register that stands in the store.
func (x *Exchange) Answer() Answer {
	return x.terms.answer(of(x.register, x.lease.Worker, x.version, x.lease.Secret), x.register.Floor, x.request)
}
