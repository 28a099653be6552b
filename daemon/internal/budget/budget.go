// Package budget bounds the memory that clients make the daemon keep for them: open connections,
// requests that are not complete, batches, and answers that were not read yet. All fronts take from one
// budget, so any number of connections stays within it. A front that gets nothing refuses its client.
package budget

import (
	"errors"
	"sync/atomic"
)

// ErrSpent is returned when a client can't have more memory.
var ErrSpent = errors.New("clients keep all of the memory that limits.memory allows them")

// Small is the most bytes that a request may still take when large requests have spent their part. So
// requests for single ids go on.
const Small = 32 << 10

// Budget is a number of bytes. Use [New] to make one. Nil is unbounded. It is safe for concurrent use.
type Budget struct {
	most int64
	used atomic.Int64
}

// New returns a budget of so many bytes.
func New(bytes int) *Budget { return &Budget{most: int64(bytes)} }

// Take takes bytes, or returns [ErrSpent]. The caller must give them back.
func (b *Budget) Take(bytes int) error {
	if b == nil || bytes <= 0 {
		return nil
	}
	most := b.most
	if bytes > Small {
		most -= most / 4
	}
	if b.used.Add(int64(bytes)) > most {
		b.used.Add(-int64(bytes))
		return ErrSpent
	}
	return nil
}

// Add takes bytes without a bound. The caller knows that they were free just now.
func (b *Budget) Add(bytes int) {
	if b != nil && bytes > 0 {
		b.used.Add(int64(bytes))
	}
}

// Give gives bytes back.
func (b *Budget) Give(bytes int) {
	if b != nil && bytes > 0 {
		b.used.Add(-int64(bytes))
	}
}

// Used returns how many bytes are taken.
func (b *Budget) Used() int64 {
	if b == nil {
		return 0
	}
	return b.used.Load()
}
