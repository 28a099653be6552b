package zkstore

import (
	"encoding/binary"

	"snowfence.example/snowfence/internal/storeclient"
)

// SessionID distinguishes sessions of the ensemble.
func (s *Store) SessionID() int64 { return s.session.client.SessionID() }

// Abandoned counts the calls that the client library has not returned from.
func (s *Store) Abandoned() int { return len(s.session.turns) }

// MostAbandoned is the greatest number of them.
const MostAbandoned = calls

// Frames makes readers of an answer: of a session's opening if kind is 0, else of a request of that
// kind, whose number is 1.
func Frames(kind uint32) func() storeclient.Answers {
	return func() storeclient.Answers {
		f := &frames{}
		f.Asked(make([]byte, 12))
		if kind != 0 {
			f.begun = true
			f.Asked(binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8, 0, 0, 0, 1}, kind))
		}
		return f
	}
}
