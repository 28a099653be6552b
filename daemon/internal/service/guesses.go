package service

import (
	"net/netip"
	"sync"
	"time"
)

// wrong are the wrong tokens of all clients that the log does not show yet.
type wrong struct {
	mu     sync.Mutex // guards the fields below
	tokens int
	last   netip.Addr    // that showed one
	next   time.Duration // when the log may show them again, on the monotonic clock
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
