package respfront

import (
	"errors"
	"io"
	"net"
	"time"

	"snowfence.example/snowfence/daemon/internal/budget"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/internal/session"
)

// input is the received bytes of a client, and the time that the server waits for more.
type input struct {
	net    *session.Conn
	meter  front.Meter
	limits front.Limits
	known  bool // the client, once it has been answered
	memory *budget.Budget
	held   int  // bytes of data that were taken from it
	spent  bool // the memory was used up for the present command

	data []byte // the received bytes; from next on they are not answered yet
	next int

	// Times are of the meter's clock.
	began     time.Duration // when data was read or answered last
	since     time.Duration // from when on the client has time for its command
	readUntil time.Duration // the deadline of reads
	served    bool          // whether a command was answered
}

const (
	// smallBuffer is the size of a connection's buffer at first, and again when it is quiet. It is
	// enough for clients that send one command at a time. The largest is that of one command.
	smallBuffer = 512

	// quiet is after how long without a command a connection gives up its large buffer.
	quiet = 30 * time.Second
)

// read waits for the client, and reads its bytes. It is false when the connection must end: by
// the client, because it took too long, or because the server drains.
func (in *input) read() bool {
	if in.spent = !in.makeRoom(); in.spent {
		_, _ = io.WriteString(in.net, "-TRYAGAIN "+budget.ErrSpent.Error()+"\r\n")
		return false
	}
	if in.since == 0 {
		in.since = in.meter.Began()
		in.began = in.since
	}
	for now := in.began; ; now = in.meter.Began() {
		wait := in.since + in.patience() - now
		if cap(in.data) > smallBuffer {
			wait = min(wait, quiet)
		}
		if !in.readWithin(now, wait) {
			return false
		}
		n, err := in.net.Read(in.data[len(in.data):cap(in.data)])
		if n > 0 {
			in.began = in.meter.Began()
			if len(in.data) == 0 && in.served {
				in.since = in.began
			}
			in.data = in.data[:len(in.data)+n]
			return true
		}
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() {
			return false
		}
		in.readUntil = 0 // it has passed, or the server drains; a handshake of TLS does not go on after it
		if len(in.data) == 0 && cap(in.data) > smallBuffer {
			in.free()
		}
	}
}

// free gives up a large buffer.
func (in *input) free() {
	in.memory.Give(in.held)
	in.data, in.next, in.held = make([]byte, 0, smallBuffer), 0, 0
}

// patience is how long the client may take: for its first command, and for the rest of one that it
// began, less than until it sends the next.
func (in *input) patience() time.Duration {
	if in.served && len(in.data) == 0 {
		return in.limits.Idle(in.known)
	}
	return in.limits.ReadTimeout
}

// readWithin keeps the deadline of reads between d and half of d ahead, because to set it costs as
// much as a command.
func (in *input) readWithin(now, d time.Duration) bool {
	if d <= 0 {
		return false
	}
	if left := in.readUntil - now; left >= d/2 && left <= d {
		return true
	}
	in.readUntil = now + d
	return in.net.ReadWithin(d) == nil
}

// makeRoom moves the unanswered bytes to the front, and doubles the buffer that the last read filled,
// if there is memory. It is false if there is room for nothing more.
func (in *input) makeRoom() bool {
	size := cap(in.data)
	filled := len(in.data) == size
	rest := in.data[in.next:]
	if filled && size < maxCommand && in.memory.Take(size) == nil {
		in.held += size
		in.data = make([]byte, 0, 2*size)
	}
	in.data = append(in.data[:0], rest...)
	in.next = 0
	return len(in.data) < cap(in.data)
}
