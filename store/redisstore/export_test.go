package redisstore

import "time"

// Grace is for how long a store goes on.
const Grace = grace

// Age makes a store believe that its grace began earlier by that.
func (s *Store) Age(d time.Duration) {
	s.config.guess.mu.Lock()
	defer s.config.guess.mu.Unlock()
	s.config.guess.begun = s.config.guess.begun.Add(-d)
}
