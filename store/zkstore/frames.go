package zkstore

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
)

// Of each packet the client library takes the first 16 bytes for granted, which
// are its header, or the beginning of the answer that opens a session.
const leastPacket = 16

// frames is a connection that ends where a packet begins which the client
// library would not survive: one that is shorter than its header, or an answer
// without a session timeout, makes it panic, and one of any length, such as the
// first words of a server that speaks another protocol, makes it ask for as
// much memory. Only one goroutine may read at a time.
type frames struct {
	net.Conn
	begun bool   // the answer that opens a session has come
	head  []byte // length and beginning of a packet, not yet read
	rest  int    // bytes of the packet after them, not yet read
}

// Read implements net.Conn.
func (f *frames) Read(p []byte) (int, error) {
	if len(f.head) == 0 && f.rest == 0 {
		if err := f.next(); err != nil {
			return 0, err
		}
	}
	if len(f.head) > 0 {
		n := copy(p, f.head)
		f.head = f.head[n:]
		return n, nil
	}
	n, err := f.Conn.Read(p[:min(len(p), f.rest)])
	f.rest -= n
	return n, err
}

// next takes in the beginning of a packet.
func (f *frames) next() error {
	head := make([]byte, 4+leastPacket)
	if _, err := io.ReadFull(f.Conn, head[:4]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(head)
	if size < leastPacket || size > answerSize {
		return fmt.Errorf("a packet of %d bytes: must have %d to %d: is it a ZooKeeper server?", size, leastPacket, answerSize)
	}
	if _, err := io.ReadFull(f.Conn, head[4:]); err != nil {
		return err
	}
	if !f.begun {
		// The protocol's version, the timeout in milliseconds, the session.
		timeout, session := int32(binary.BigEndian.Uint32(head[8:])), binary.BigEndian.Uint64(head[12:])
		if session != 0 && timeout <= 0 {
			return fmt.Errorf("a session timeout of %d ms: must be more than 0", timeout)
		}
	}
	f.begun, f.head, f.rest = true, head, int(size)-leastPacket
	return nil
}
