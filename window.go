package snowfence

import (
	"fmt"
	"sync/atomic"
	"time"
)

// word is the state word. Calls take slots with the atomic's own methods. The two other
// steps are here, so that a test can let calls come in just before one of them. A test sets
// meanwhile; it is nil otherwise. A race of real calls hits the same few nanoseconds by luck
// alone.
type word struct {
	atomic.Uint64
	meanwhile func()
}

// Or is the seal's step.
func (w *word) Or(mask uint64) (old uint64) {
	w.others()
	return w.Uint64.Or(mask)
}

// Store is for the constructor alone: it loses every slot that was taken since the word was
// read.
func (w *word) Store(value uint64) {
	w.others()
	w.Uint64.Store(value)
}

func (w *word) others() {
	if w.meanwhile != nil {
		w.meanwhile()
	}
}

// Extend moves the end of the window to until. Call it only after the store has acknowledged
// that bound. An error is returned, and nothing changes, when until lies before the present
// end or beyond the horizon. After [Generator.Revoke] the error wraps [ErrRevoked].
func (g *Generator) Extend(until Tick) error { return g.ExtendWithin(until, 0) }

// ExtendWithin is [Generator.Extend] with an instant on the monotonic clock from which on nothing is
// issued. It is for generators whose successor may begin by then, whatever the wall clocks say. Zero
// leaves the instant as it is; it never moves back. A call that began before the instant may return its
// id after it.
func (g *Generator) ExtendWithin(until Tick, expires time.Duration) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.revoked != nil:
		return g.revoked
	case until < g.until:
		return fmt.Errorf("snowfence: extend: until is %d: must be at least the present %d", until, g.until)
	case until > g.horizon:
		return fmt.Errorf("snowfence: extend: until is %d: must be at most the horizon, %d", until, g.horizon)
	}
	g.until, g.expires = until, max(g.expires, expires)
	g.serve()
	return nil
}

// Revoke ends the generator for good. Every later call, and every waiting call, fails with an
// error that wraps [ErrRevoked] and cause. Revoke returns the first tick above every reserved
// one, or the floor if none was. No id that the generator returned, or still returns, has
// that tick or a later one. Only the first call takes effect; later ones return the same.
func (g *Generator) Revoke(cause error) Tick {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seal(cause)
	g.serve()
	return g.reserved
}

// seal needs g.mu, and serve after it. It is one atomic step on the state word. So each
// reservation comes either before it, and is counted, or after it, and fails.
func (g *Generator) seal(cause error) {
	if g.revoked != nil {
		return
	}
	if cause == nil {
		g.revoked = ErrRevoked
	} else {
		g.revoked = fmt.Errorf("%w: %w", ErrRevoked, cause)
	}
	next := g.state.Or(sealed)
	g.reserved = g.above(next)
}

// above returns the first tick above all that were reserved when the word was
// next: the floor if nothing was. Slots that were given up at the bound may
// lie beyond the window; none of them became an id. It needs g.mu.
func (g *Generator) above(next uint64) Tick {
	if next == g.origin {
		return g.floor
	}
	return min(Tick((next-1)>>g.seqBits)+1, g.until)
}
