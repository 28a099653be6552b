package thriftfront

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"snowfence.example/snowfence/daemon/internal/front"
)

const (
	maxMessage = 2 << 10 // bytes of a message, and of a frame
	maxText    = 1 << 10 // bytes of a name or a user agent
	headerSize = 4       // bytes of a frame's length
)

// stream is a connection.
type stream interface {
	io.ReadWriter
	// ReadWithin and WriteWithin set how long reads and writes may take from now on.
	ReadWithin(d time.Duration) error
	WriteWithin(d time.Duration) error
}

// transport reads and writes the messages of one connection. The first bytes of each message show
// whether it is framed, and in which protocol it is; the answer is alike.
type transport struct {
	stream stream
	meter  front.Meter
	limits front.Limits
	known  bool // the client

	// Times are of the meter's clock.
	now                   time.Duration // when a message was answered last, or one had begun
	readUntil, writeUntil time.Duration // the deadlines

	idle  bool // the next message has not begun; a new connection must send its first one soon
	timed bool // the deadline of this message is set

	in   [maxMessage]byte
	r, w int // in[r:w] are the received bytes that are not read yet
	left int // bytes of the message that may still be read

	framed, compact bool
	bytes.Buffer    // the answer, after room for a frame's length: protocols write to it, and read by the methods below
}

var _ thrift.TRichTransport = (*transport)(nil)

// begin waits for a message. It returns [io.EOF] when the client has ended.
func (t *transport) begin() error {
	head, err := t.peek(headerSize)
	if err != nil {
		return err
	}
	t.Reset()
	t.Write(make([]byte, headerSize))
	t.left, t.framed = maxMessage, !unframed(head)
	if t.framed {
		n := binary.BigEndian.Uint32(head)
		if n < headerSize || n > maxMessage {
			return fmt.Errorf("a frame has %d bytes, must have %d to %d", n, headerSize, maxMessage)
		}
		t.r += headerSize
		t.left = int(n)
		if head, err = t.peek(headerSize); err != nil {
			return err
		}
	}
	t.compact = head[0] == thrift.COMPACT_PROTOCOL_ID
	return nil
}

// unframed reports whether a message begins here: a frame's length is less.
func unframed(head []byte) bool {
	return binary.BigEndian.Uint32(head)&thrift.VERSION_MASK == thrift.VERSION_1 ||
		head[0] == thrift.COMPACT_PROTOCOL_ID && head[1]&thrift.COMPACT_VERSION_MASK == thrift.COMPACT_VERSION
}

// end passes over the rest of a message that was understood.
func (t *transport) end() error {
	for t.framed && t.left > 0 {
		if err := t.fill(); err != nil {
			return err
		}
		n := min(t.left, t.w-t.r)
		t.r, t.left = t.r+n, t.left-n
	}
	t.idle, t.timed = t.r == t.w, false
	return nil
}

// peek returns the next n bytes of the message without reading them, n being small.
func (t *transport) peek(n int) ([]byte, error) {
	for t.w-t.r < n {
		if err := t.receive(); err != nil {
			return nil, err
		}
	}
	return t.in[t.r : t.r+n], nil
}

// fill waits until a byte can be read.
func (t *transport) fill() error {
	if t.left == 0 {
		return io.ErrUnexpectedEOF
	}
	if t.r < t.w {
		return nil
	}
	return t.receive()
}

// receive receives more. A message that has begun must end within the read timeout, or a quarter more.
func (t *transport) receive() error {
	if !t.timed {
		patience := t.limits.Idle(t.known)
		if !t.idle {
			patience, t.now = t.limits.ReadTimeout, t.meter.Began()
		}
		if err := t.within(patience, &t.readUntil, t.stream.ReadWithin); err != nil {
			return err
		}
	}
	if t.r > 0 {
		t.r, t.w = 0, copy(t.in[:], t.in[t.r:t.w])
	}
	n, err := t.stream.Read(t.in[t.w:])
	t.w += n
	t.timed, t.idle = !t.idle, false
	if n > 0 {
		return nil
	}
	return err
}

// within sets a deadline that is a patience ahead, or up to a quarter more. So most messages save the
// call, which costs as much as their ids.
func (t *transport) within(patience time.Duration, until *time.Duration, set func(time.Duration) error) error {
	longest := patience + patience/4
	if left := *until - t.now; left >= patience && left <= longest {
		return nil
	}
	*until = t.now + longest
	return set(longest)
}

// Read reads bytes of the message.
func (t *transport) Read(p []byte) (int, error) {
	if err := t.fill(); err != nil {
		return 0, err
	}
	n := copy(p, t.in[t.r:min(t.w, t.r+t.left)])
	t.r, t.left = t.r+n, t.left-n
	return n, nil
}

// ReadByte reads a byte of the message.
func (t *transport) ReadByte() (byte, error) {
	if err := t.fill(); err != nil {
		return 0, err
	}
	b := t.in[t.r]
	t.r, t.left = t.r+1, t.left-1
	return b, nil
}

// RemainingBytes returns how many bytes the message may still have. The protocols refuse containers
// by it.
func (t *transport) RemainingBytes() uint64 { return uint64(t.left) }

// Flush sends the answer, if there is one.
func (t *transport) Flush(context.Context) error {
	frame := t.Bytes()
	answer := frame[headerSize:]
	if len(answer) == 0 {
		return nil
	}
	if t.framed {
		binary.BigEndian.PutUint32(frame, uint32(len(answer)))
		answer = frame
	}
	if err := t.within(t.limits.WriteTimeout, &t.writeUntil, t.stream.WriteWithin); err != nil {
		return err
	}
	_, err := t.stream.Write(answer)
	return err
}

// Open, IsOpen and Close are for clients. Here the server opens and closes.
func (t *transport) Open() error  { return nil }
func (t *transport) IsOpen() bool { return true }
func (t *transport) Close() error { return nil }
