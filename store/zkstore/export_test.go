package zkstore

import "runtime"

// SessionID tells sessions of the ensemble apart.
func (s *Store) SessionID() int64 { return s.session.client.SessionID() }

// Abandoned counts the calls that the client library has not returned from.
func (s *Store) Abandoned() int { return len(s.session.turns) }

// MostAbandoned is the greatest number of them.
const MostAbandoned = calls

// Goroutines returns the stacks of all goroutines.
func Goroutines() string {
	b := make([]byte, 1<<20)
	return string(b[:runtime.Stack(b, true)])
}
