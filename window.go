package snowfence

import (
	"fmt"
	"sync/atomic"
)

// word is the state word. Calls take slots with the atomic's own methods. The two
// other steps stand here, so that a test can let calls come in just before one
// of them: it sets meanwhile, which is nil otherwise. A race of real calls hits
// the same few nanoseconds by luck alone.
type word struct {
	atomic.Uint64
	meanwhile func()
}

// Or is the seal's step.
func (w *word) Or(mask uint64) (old uint64) {
	w.others()
	return w.Uint64.Or(mask)
}

// Store is for the constructor alone: it loses whatever was taken since the word
// was read.
func (w *word) Store(value uint64) {
	w.others()
	w.Uint64.Store(value)
}

func (w *word) others() {
	if w.meanwhile != nil {
		w.meanwhile()
	}
}

// Extend moves the end of the window to until. It is for the holder of a
// lease, to be called only after the store has acknowledged that bound. An
// error is returned, and nothing changed, when until lies before the present
// end or beyond the horizon; an error that is [ErrRevoked] after
// [Generator.Revoke].
func (g *Generator) Extend(until Tick) error {
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
	g.until = until
	g.serve()
	return nil
}

// Revoke ends the generator for good: every later call, and every call that
// waits, fails with an error that is [ErrRevoked] and cause. It returns the
// first tick above all that the generator ever reserved, or the floor if it
// reserved none: no id that it returned, or ever will return, has that tick or
// a later one. Only the first call takes effect; later ones return the same.
func (g *Generator) Revoke(cause error) Tick {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seal(cause)
	g.serve()
	return g.reserved
}

// seal needs g.mu, and serve after it. It is one atomic step on the word that
// reservations are made on, so each of them comes either before it, and is
// counted in what was reserved, or after it, and fails.
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
