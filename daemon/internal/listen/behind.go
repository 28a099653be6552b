package listen

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"snowfence.example/snowfence/daemon/internal/budget"
)

// Behind is a connection whose writes wait for the client for a moment at most. The answers that the kernel does not
// take by then are kept, within a budget, and follow. So a client may send all of its commands before it reads the first
// answer.
//
// A write fails with [budget.ErrSpent] when the budget has no room for it. A message of at most lastWords
// bytes takes less of it, so that the failure can often still be reported.
type Behind struct {
	*conn
	memory   *budget.Budget
	patience time.Duration   // for a client that reads nothing
	raw      syscall.RawConn // nil if all writes go the long way

	mu     sync.Mutex // guards the fields below
	pieces [][]byte   // bytes that the kernel did not take
	spare  []byte     // room for one more, or nil; it is taken from the memory
	busy   bool       // follow runs: until it ends it alone writes to the connection
	idle   sync.Cond  // of busy
	err    error      // why nothing can be written any more
	deaf   bool       // the client has read nothing for a moment, while pieces are kept

	fewer chan struct{} // has room for one: a piece was written

	// Of a write that is tried. They stand here so that nothing is allocated.
	try    func(fd uintptr) bool
	text   []byte
	taken  int
	failed error
	waits  bool // the deadline is set
}

const (
	pieceSize = 32 << 10
	lastWords = 512       // bytes that explain why nothing more follows
	lastPiece = 1 << 10   // for them
	leastRate = 256 << 10 // bytes a second that a client reads

	// A client that reads gets a moment until the kernel takes the rest. So little is copied and kept
	// for it, and answers to others are made meanwhile. The kernel takes more once a third of its room
	// is free, so a client that reads for many connections in turn needs some time.
	moment    = 250 * time.Millisecond
	fewPieces = 4
)

func newBehind(c *conn, memory *budget.Budget, patience time.Duration) *Behind {
	b := &Behind{conn: c, memory: memory, patience: patience, fewer: make(chan struct{}, 1)}
	b.idle.L = &b.mu
	b.raw = rawOf(c.Conn)
	b.try = b.writeOrWait
	return b
}

// Write writes to the client, or keeps the bytes: all that the kernel did not take, or nothing.
func (b *Behind) Write(p []byte) (n int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return 0, b.err
	}
	if !b.busy && b.raw != nil {
		if n, err = b.now(p); err != nil || n == len(p) {
			b.err = err
			return n, err
		}
	}
	if err := b.keep(p[n:]); err != nil {
		if n > 0 {
			b.err = err // the rest of it is missing
		}
		return n, err
	}
	if !b.busy {
		b.busy = true
		go b.follow()
	}
	if len(b.pieces) > fewPieces && !b.deaf {
		b.pause()
	}
	return len(p), nil
}

// now writes the bytes that the kernel takes within a moment. It needs the lock.
func (b *Behind) now(p []byte) (n int, err error) {
	b.text, b.taken, b.failed, b.waits = p, 0, nil, false
	if err = b.raw.Write(b.try); err == nil {
		err = b.failed
	}
	n, b.text = b.taken, nil
	if !b.waits {
		return n, err
	}
	b.memory.Give(len(p))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	return n, errors.Join(err, b.conn.SetWriteDeadline(time.Time{}))
}

// writeOrWait writes the bytes that the kernel takes. It is called again when the kernel takes more, or
// the moment ends.
func (b *Behind) writeOrWait(fd uintptr) (done bool) {
	var n int
	n, b.failed = writeNow(fd, b.text[b.taken:])
	if b.taken += n; b.failed == nil && b.taken < len(b.text) && !b.waits {
		b.waits = true // only now, because to set a deadline costs as much as a command
		b.memory.Add(len(b.text))
		b.failed = b.conn.SetWriteDeadline(in(moment))
	}
	return b.failed != nil || b.taken == len(b.text)
}

// pause waits until the client has read a piece, but a moment at most. It needs the lock, which others may take meanwhile.
func (b *Behind) pause() {
	b.mu.Unlock()
	timer := after(moment)
	defer timer.Stop()
	read := true
	select {
	case <-b.fewer:
	case <-timer.C:
		read = false
	}
	b.mu.Lock()
	b.deaf = !read && b.busy
}

// keep keeps bytes in pieces. It needs the lock.
func (b *Behind) keep(p []byte) error {
	var last []byte
	if n := len(b.pieces); n > 0 {
		last = b.pieces[n-1]
	}
	some := min(len(p), cap(last)-len(last))
	size, pieces := pieceSize, (len(p)-some+pieceSize-1)/pieceSize
	spare := b.spare
	if pieces == 0 {
		spare = nil
	}
	err := b.memory.Take(pieces*pieceSize - cap(spare))
	if err != nil && len(p) <= lastWords {
		size = lastPiece
		err = b.memory.Take(size)
	}
	if err != nil {
		return err
	}
	if some > 0 {
		b.pieces[len(b.pieces)-1] = append(last, p[:some]...)
		p = p[some:]
	}
	if spare != nil {
		b.spare = nil
	}
	for len(p) > 0 {
		some := min(len(p), size)
		if spare == nil {
			spare = make([]byte, 0, size)
		}
		b.pieces, p, spare = append(b.pieces, append(spare, p[:some]...)), p[some:], nil
	}
	return nil
}

// follow writes the kept bytes. The client may pause for as long as the patience in all, and must read
// at the least rate then.
func (b *Behind) follow() {
	until := in(b.patience)
	for b.mu.Lock(); len(b.pieces) > 0 && b.err == nil; {
		piece := b.pieces[0]
		b.pieces[0] = nil // the array would keep the written piece in memory
		b.pieces = b.pieces[1:]
		b.mu.Unlock()
		until = until.Add(time.Second * pieceSize / leastRate)
		err := b.conn.SetWriteDeadline(until)
		if err == nil {
			_, err = b.conn.Conn.Write(piece)
		}
		select {
		case b.fewer <- struct{}{}:
		default:
		}
		b.mu.Lock()
		b.deaf, b.err = false, err
		if b.spare == nil && cap(piece) == pieceSize {
			b.spare = piece[:0]
		} else {
			b.memory.Give(cap(piece))
		}
	}
	defer b.mu.Unlock()
	b.memory.Give(cap(b.spare))
	for _, piece := range b.pieces {
		b.memory.Give(cap(piece))
	}
	b.pieces, b.spare, b.busy = nil, nil, false
	b.idle.Broadcast()
	if b.err != nil {
		_ = b.conn.Close() // the client is left
		return
	}
	_ = b.conn.SetWriteDeadline(time.Time{})
}

// settle waits until all is written, or can't be.
func (b *Behind) settle() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.busy {
		b.idle.Wait()
	}
}

// SetWriteDeadline does nothing: now and follow set the deadlines of their writes. Package tls sets one in the past
// once it has sent its farewell.
func (b *Behind) SetWriteDeadline(time.Time) error { return nil }

// SetDeadline is SetReadDeadline.
func (b *Behind) SetDeadline(t time.Time) error { return b.conn.SetReadDeadline(t) }

// Unread returns how many bytes are kept for a client that did not read them yet.
func (b *Behind) Unread() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.pieces) * pieceSize // about
}

// CloseWrite closes the writing side once all bytes are written.
func (b *Behind) CloseWrite() error {
	b.settle()
	return b.conn.CloseWrite()
}

// Close closes the connection, once all is written.
func (b *Behind) Close() error {
	b.settle()
	return b.conn.Close()
}

// Abort closes the connection at once.
func (b *Behind) Abort() error { return b.conn.Close() }
