package zkstore

import (
	"encoding/binary"
	"fmt"
)

// The client library's assumptions about each packet: its header, or the beginning of
// the answer that opens a session.
const leastPacket = 16

// looked is how many bytes of a packet are looked at: its header, and the length or count
// behind it.
const looked = leastPacket + 4

// The requests whose answers begin with a length, or a count of names.
const (
	getData     = 4
	getChildren = 12 // getChildren2, which the library asks by
)

// frames follows the packets of a server. It refuses packets that would crash the client library: a
// packet that is shorter than its header, or an answer without a session timeout, makes it panic. A
// length or a count of any size, such as the first words of a server that speaks another protocol,
// makes it ask for as much memory.
type frames struct {
	size    []byte // a packet's length, as far as it has come
	begun   bool   // the answer that opens a session has come
	head    []byte // the packet's first bytes, as far as they have come
	rest    int    // bytes of the packet that are still to come
	looking bool   // they are still to be looked at

	asked bool            // the request for a session was sent
	calls map[int32]int32 // requests under way, by number: their kind
}

// Asked implements storeclient.Answers. The client library writes each packet at once.
func (f *frames) Asked(b []byte) {
	if !f.asked || len(b) < 12 {
		f.asked = true
		return
	}
	switch kind := int32(binary.BigEndian.Uint32(b[8:])); kind {
	case getData, getChildren:
		if f.calls == nil {
			f.calls = make(map[int32]int32)
		}
		f.calls[int32(binary.BigEndian.Uint32(b[4:]))] = kind
	}
}

// Take implements storeclient.Answers.
func (f *frames) Take(b []byte) error {
	for len(b) > 0 {
		if f.rest == 0 {
			n := min(4-len(f.size), len(b))
			f.size, b = append(f.size, b[:n]...), b[n:]
			if len(f.size) < 4 {
				return nil
			}
			size := binary.BigEndian.Uint32(f.size)
			if size < leastPacket || size > answerSize {
				return fmt.Errorf("a packet of %d bytes: must have %d to %d: is it a ZooKeeper server?", size, leastPacket, answerSize)
			}
			f.rest, f.size, f.head, f.looking = int(size), f.size[:0], f.head[:0], true
			continue
		}
		n := min(f.rest, len(b))
		if f.looking {
			n = min(n, looked-len(f.head))
			f.head = append(f.head, b[:n]...)
		}
		f.rest, b = f.rest-n, b[n:]
		if f.looking && (len(f.head) == looked || f.rest == 0) {
			f.looking = false
			if err := f.look(); err != nil {
				return err
			}
		}
	}
	return nil
}

// look looks at the beginning of a packet.
func (f *frames) look() error {
	head, size := f.head, len(f.head)+f.rest
	if !f.begun {
		// The protocol's version, the timeout in milliseconds, the session, its password.
		f.begun = true
		timeout, session := int32(binary.BigEndian.Uint32(head[4:])), binary.BigEndian.Uint64(head[8:])
		if session != 0 && timeout <= 0 {
			return fmt.Errorf("a session timeout of %d ms: must be more than 0", timeout)
		}
		return fits("a password", head, size, 1)
	}
	// The request's number, the transaction's, an error.
	number, failed := int32(binary.BigEndian.Uint32(head)), binary.BigEndian.Uint32(head[12:])
	kind := f.calls[number]
	delete(f.calls, number)
	switch {
	case failed != 0:
	case kind == getData:
		return fits("data", head, size, 1)
	case kind == getChildren:
		return fits("a list of names", head, size, 5) // of a byte at least, and its length
	}
	return nil
}

// fits returns an error unless a packet has room for as many things, each of some bytes at
// least, as the number behind its header declares.
func fits(what string, head []byte, size, each int) error {
	if len(head) < looked {
		return nil // the client library sees that the packet is too short
	}
	n, room := binary.BigEndian.Uint32(head[leastPacket:]), (size-looked)/each
	if int64(n) <= int64(room) || n == 1<<32-1 && each == 1 { // −1 stands for no bytes
		return nil
	}
	return fmt.Errorf("%s with a length of %d in a packet of %d bytes: must be at most %d", what, n, size, room)
}
