package openstore

import (
	"encoding/binary"
	"fmt"
)

const (
	maxMessage = 1 << 20 // of one packet or message: a row has a register, or a user's id
	maxReply   = 4 << 20 // of all that follows a request, rows of a table that is read through apart
	maxColumns = 4096    // of a table, in MySQL
)

// reply counts the bytes that follow a request. Rows of a stream don't count: they are taken one by one.
type reply struct {
	stream bool
	size   int
}

func (r *reply) count(n int, row bool) error {
	if row && r.stream {
		return nil
	}
	if r.size += n; r.size > maxReply {
		return fmt.Errorf("more than %d bytes after one request", maxReply)
	}
	return nil
}

// header gathers the first bytes of a message, however they come.
type header struct {
	bytes []byte
	rest  int // bytes of the message behind them, still to come
}

// skip takes the rest of the last message from b, and returns the rest of b.
func (h *header) skip(b []byte) []byte {
	n := min(h.rest, len(b))
	h.rest -= n
	return b[n:]
}

// fill takes from b until there are n bytes, and returns the rest of b.
func (h *header) fill(b []byte, n int) ([]byte, bool) {
	take := min(max(n-len(h.bytes), 0), len(b))
	h.bytes = append(h.bytes, b[:take]...)
	return b[take:], len(h.bytes) >= n
}

// postgresAnswers follows PostgreSQL's messages. The driver makes room for a length of any size,
// and keeps parameters without end.
type postgresAnswers struct {
	reply
	header
}

// Asked implements storeclient.Answers.
func (a *postgresAnswers) Asked([]byte) { a.size = 0 }

// Take implements storeclient.Answers.
func (a *postgresAnswers) Take(b []byte) error {
	for b = a.skip(b); len(b) > 0; b = a.skip(b) {
		rest, whole := a.fill(b, 5)
		if b = rest; !whole {
			return nil
		}
		kind, size := a.bytes[0], binary.BigEndian.Uint32(a.bytes[1:])
		if size < 4 || size > maxMessage {
			return fmt.Errorf("a message %q of %d bytes: must have 4 to %d: is it a PostgreSQL server?", kind, size, maxMessage)
		}
		if err := a.count(int(size)+1, kind == 'D'); err != nil {
			return err
		}
		a.bytes, a.rest = a.bytes[:0], int(size)-4
	}
	return nil
}

// mysqlAnswers follows the packets of MySQL and MariaDB. The driver makes room for as many
// columns as a server announces, and for packets without end that continue each other.
type mysqlAnswers struct {
	reply
	header
	encrypted bool // after the first packet: then only bytes are counted
	begun     bool // the first packet has come
	in        bool // logged in
	asked     bool // the next packet answers a request
	columns   int  // that are still to come, before rows
	rows      bool // have begun
}

// Asked implements storeclient.Answers.
func (a *mysqlAnswers) Asked([]byte) { a.size, a.asked, a.rows, a.columns = 0, true, false, 0 }

// Take implements storeclient.Answers.
func (a *mysqlAnswers) Take(b []byte) error {
	for b = a.skip(b); len(b) > 0; b = a.skip(b) {
		if a.encrypted && a.begun {
			return a.count(len(b), true)
		}
		rest, whole := a.fill(b, 4)
		if b = rest; !whole {
			return nil
		}
		size := int(a.bytes[0]) | int(a.bytes[1])<<8 | int(a.bytes[2])<<16
		if size > maxMessage {
			return fmt.Errorf("a packet of %d bytes: must have at most %d: is it a MySQL server?", size, maxMessage)
		}
		first := min(size, 9) // a number of columns has up to 9 bytes
		if b, whole = a.fill(b, 4+first); !whole {
			return nil
		}
		if err := a.packet(a.bytes[4:], 4+size); err != nil {
			return err
		}
		a.bytes, a.rest = a.bytes[:0], size-first
	}
	return nil
}

// packet looks at a packet's first bytes.
func (a *mysqlAnswers) packet(first []byte, size int) error {
	asked := a.asked && a.in
	if err := a.count(size, a.rows); err != nil {
		return err
	}
	a.begun, a.asked = true, false
	switch {
	case !a.in:
		a.in = len(first) > 0 && first[0] == 0 // OK
	case asked && len(first) > 0 && first[0] != 0 && first[0] != 0xff && first[0] != 0xfb:
		n := columns(first)
		if n == 0 || n > maxColumns {
			return fmt.Errorf("a result of %d columns: must have 1 to %d", n, maxColumns)
		}
		a.columns = int(n)
	case a.columns > 0:
		a.columns--
		a.rows = a.columns == 0
	}
	return nil
}

// columns reads a number as the protocol writes it, or 0 if it is cut off.
func columns(b []byte) uint64 {
	var whole [9]byte
	n := copy(whole[:], b)
	switch {
	case b[0] == 0xfc && n >= 3:
		return uint64(binary.LittleEndian.Uint16(whole[1:]))
	case b[0] == 0xfd && n >= 4:
		return uint64(binary.LittleEndian.Uint32(whole[1:])) & 0xffffff
	case b[0] == 0xfe && n == 9:
		return binary.LittleEndian.Uint64(whole[1:])
	case b[0] < 0xfb:
		return uint64(b[0])
	}
	return 0
}
