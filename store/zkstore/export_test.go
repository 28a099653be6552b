package zkstore

import (
	"encoding/binary"
	"runtime"
)

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

// Take looks at an answer, at once or byte by byte: of a session's opening if kind is 0, else of
// a request of that kind, whose number is 1.
func Take(answer []byte, kind uint32, whole bool) error {
	f := &frames{}
	f.Asked(make([]byte, 12))
	if kind != 0 {
		f.begun = true
		f.Asked(binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8, 0, 0, 0, 1}, kind))
	}
	if whole {
		return f.Take(answer)
	}
	for i := range answer {
		if err := f.Take(answer[i : i+1]); err != nil {
			return err
		}
	}
	return nil
}
