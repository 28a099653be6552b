package service

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// MaxGuesses is how many wrong tokens a connection may show before it ends.
const MaxGuesses = 5

// Guesses counts the wrong tokens of one connection. Its zero value is ready to use, and a nil one counts nothing. It is safe for
// concurrent use.
type Guesses struct{ n atomic.Int32 }

// Note counts the token that a client has shown, if it was wrong. It reports whether the connection must end by that.
func (g *Guesses) Note(c *Client) (spent bool) {
	return g != nil && c.guessed && g.n.Add(1) >= MaxGuesses
}

// Spent reports whether the connection has shown too many wrong tokens.
func (g *Guesses) Spent() bool { return g != nil && g.n.Load() >= MaxGuesses }

// wrong are the wrong tokens of all clients that the log has not said yet.
type wrong struct {
	mu     sync.Mutex // guards what follows
	tokens int
	last   netip.Addr    // that showed one
	next   time.Duration // when the log may say it again, on the monotonic clock
}

// note counts a wrong token.
func (w *wrong) note(from netip.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tokens++
	w.last = from
}

// WarnOfGuesses logs how many wrong tokens clients have shown since the last such line, but once a minute at most. The
// daemon calls it each second.
func (s *Service) WarnOfGuesses() {
	s.wrong.mu.Lock()
	defer s.wrong.mu.Unlock()
	now := s.clock.Monotonic()
	if s.wrong.tokens == 0 || now < s.wrong.next {
		return
	}
	s.log.Warn("clients show wrong tokens: see limits.address-rate", "tokens", s.wrong.tokens, "last_address", s.wrong.last)
	s.wrong.tokens, s.wrong.next = 0, now+warnPause
}
