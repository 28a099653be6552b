package redisstore

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"snowfence.example/snowfence/internal/storeclient"
)

// grace is for how long an open store goes on when the loss of a failover is unbounded from now on.
// Each replica that joins has this effect, also where the new one of a replacement comes first. The
// grace is enough to replace a replica, or to set min-replicas-to-write, which needs no restart. Ids
// can repeat only if a failover comes within it, to a replica that lags further than the default. Open
// has no grace.
const grace = 10 * time.Minute

// A guess is about a loss that is the default: no operator asserts it, so a visible setting must bound
// the loss of a failover.
type guess struct {
	mu    sync.Mutex
	log   *slog.Logger
	open  bool      // Open has succeeded
	begun time.Time // when it was first seen that nothing bounds it; zero while something does
}

// judge returns an error if the guess may not be relied on. unbounded is why the loss of a failover is
// unbounded, and nil if it is bounded.
func (g *guess) judge(unbounded error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case unbounded == nil:
		if !g.begun.IsZero() {
			g.log.Info("what a failover of the Redis server loses is bounded again: ids go on")
		}
		g.begun = time.Time{}
	case !g.open:
		return unbounded
	case g.begun.IsZero():
		g.begun = storeclient.Now()
		g.log.Error("nothing bounds any more what a failover of the Redis server loses: after the grace its swaps are refused, "+
			"and ids end with their window; set min-replicas-to-write to the number of its replicas, or start again with loss=",
			"error", unbounded, "grace", grace, "refused_from", g.begun.Add(grace).UTC())
	case storeclient.Since(g.begun) >= grace:
		return unbounded
	}
	return nil
}

// opened says that the store is open: later changes have a grace.
func (g *guess) opened() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = true
}

// LogTo makes the store log to log from now on: an error when the loss of a failover becomes unbounded,
// while the config gives none. Somebody must act on it within ten minutes. A store without a logger
// logs nothing.
func (s *Store) LogTo(log *slog.Logger) {
	if g := s.config.guess; g != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.log = log
	}
}

// Warnings returns the sentences that the operator must read whenever the store is used: that
// its loss is the default, which a further replica makes a guess.
func (s *Store) Warnings() []string {
	if s.config.guess == nil {
		return nil
	}
	return []string{fmt.Sprintf("the loss of %v is the default: say loss= before you add a replica that min-replicas-to-write does not ask for; "+
		"ids end some %.0f minutes after it has joined, and a start in between is refused", s.config.Loss, grace.Minutes())}
}
