package fence_test

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
)

var errKilled = errors.New("the process was killed")

// link is how one process reaches the store. From the process to the memory:
//
//	link        stops with the process, and is deaf on demand; notes what the
//	            process was told
//	faultstore  fails, delays, loses replies, reads late, by the seed
//	wire        repeats swaps and delivers some late, after their sender was told
//	            that they failed; notes what took effect
type link struct {
	p     *process
	inner store.Store

	stuck atomic.Bool // the next call comes back when all is over, and no sooner

	mu   sync.Mutex
	deaf chan struct{} // calls wait for it, whatever their context says; nil if not
}

// Unwrap shows the engine's clock, if it has one.
func (l *link) Unwrap() store.Store { return l.inner }

// fallDeaf makes calls wait, until the function that is returned is called.
func (l *link) fallDeaf() (hear func()) {
	deaf := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.deaf != nil {
		return func() {}
	}
	l.deaf = deaf
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.deaf = nil
		close(deaf)
	}
}

// leave is the way from the process. A deaf link heeds no context, and what it
// kept gets through when it hears again.
func (l *link) leave(ctx context.Context) (context.Context, error) {
	l.mu.Lock()
	deaf := l.deaf
	l.mu.Unlock()
	if l.stuck.CompareAndSwap(true, false) {
		deaf = l.p.m.w.over
	}
	if deaf != nil {
		select {
		case <-deaf:
		case <-l.p.killed:
		}
		ctx = context.WithoutCancel(ctx)
	}
	return ctx, l.alive()
}

// arrive is the way back: a process that is stopped hears nothing, and one that
// was killed never will.
func (l *link) arrive() error {
	_, goOn := l.p.m.clock.standing()
	select {
	case <-goOn:
	case <-l.p.killed:
	}
	return l.alive()
}

func (l *link) alive() error {
	select {
	case <-l.p.killed:
		return errKilled
	default:
		return nil
	}
}

func (l *link) Get(ctx context.Context, key string) (store.Entry, error) {
	ctx, err := l.leave(ctx)
	if err != nil {
		return store.Entry{}, err
	}
	e, err := l.inner.Get(ctx, key)
	if gone := l.arrive(); gone != nil {
		return store.Entry{}, gone
	}
	if err == nil {
		l.p.m.w.told(l.p, key, e.Value)
	}
	return e, err
}

func (l *link) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	l.p.m.w.sent(l.p, key, value)
	l.p.swaps(key)
	ctx, err := l.leave(ctx)
	if err != nil {
		return "", err
	}
	version, err := l.inner.Swap(ctx, key, prev, value)
	if gone := l.arrive(); gone != nil {
		return "", gone
	}
	if err == nil {
		l.p.m.w.told(l.p, key, value)
	}
	return version, err
}

func (l *link) List(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		ctx, err := l.leave(ctx)
		if err != nil {
			yield(store.Entry{}, err)
			return
		}
		for e, err := range l.inner.List(ctx, prefix) {
			if gone := l.arrive(); gone != nil {
				err = gone
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func (l *link) Traits(ctx context.Context) (store.Traits, error) {
	ctx, err := l.leave(ctx)
	if err != nil {
		return store.Traits{}, err
	}
	traits, err := l.inner.Traits(ctx)
	if gone := l.arrive(); gone != nil {
		return store.Traits{}, gone
	}
	return traits, err
}

func (l *link) Close() error { return l.inner.Close() }

// wire is the last piece of the way to the memory.
type wire struct {
	store.Store
	p *process

	mu  sync.Mutex
	rng *rand.Rand
}

// draws returns what befalls the next swap.
func (w *wire) draws() (repeated, late bool, by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	plan := w.p.m.w.plan
	dice, by := w.rng.Float64(), spread(w.rng, plan.window/2)
	if w.p.m.w.quiet.Load() {
		return false, false, 0
	}
	return dice < plan.repeats, dice > 1-plan.lates, by
}

func (w *wire) Unwrap() store.Store { return w.Store }

func (w *wire) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	repeated, late, by := w.draws()
	if late {
		value = append([]byte(nil), value...)
		world := w.p.m.w
		world.late.Add(1)
		time.AfterFunc(by, func() {
			defer world.late.Done()
			// Nobody awaits the answer any more.
			_, _ = w.swap(context.Background(), key, prev, value)
		})
		return "", faultstore.ErrInjected
	}
	version, err := w.swap(ctx, key, prev, value)
	if repeated {
		version, err = w.swap(ctx, key, prev, value)
	}
	return version, err
}

// swap is one step with its entry in the book, so that the book has the order in
// which swaps took effect.
func (w *wire) swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	world := w.p.m.w
	world.mu.Lock()
	defer world.mu.Unlock()
	version, err := w.Store.Swap(ctx, key, prev, value)
	if err == nil {
		world.wrote(w.p, key, value)
	}
	return version, err
}

// weather is the plan of a process's faultstore.
func (p *process) weather(seeded faultstore.Plan) faultstore.Plan {
	return func(call faultstore.Call) faultstore.Fault {
		w := p.m.w
		switch now := w.now(); {
		case w.quiet.Load():
			return faultstore.Fault{}
		case now < time.Duration(max(p.m.cut.Load(), w.cut.Load())):
			return faultstore.Fault{Before: true}
		case now < time.Duration(p.m.oneWay.Load()):
			return faultstore.Fault{LostReply: true}
		}
		return seeded(call)
	}
}

// register reads a register that was written, if it is one.
func register(key string, value []byte, layout string) (stored.Register, bool) {
	if key == stored.NamespaceKey(stored.DefaultNamespace) {
		return stored.Register{}, false
	}
	r, err := stored.DecodeRegister(value)
	return r, err == nil && r.Layout == layout
}
