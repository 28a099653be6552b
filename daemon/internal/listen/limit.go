package listen

import (
	"errors"
	"net"
	"net/netip"
	"sync"

	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/front"
)

// Room is the room for connections that fronts share. Use [NewRoom] to make one. It is safe for concurrent use.
type Room struct {
	most, mostOfAddress int // mostOfAddress is 0 without a limit
	memory              int // bytes that all may keep; 0 without a limit

	mu        sync.Mutex // guards the fields below
	open      int
	kept      int                  // bytes
	addresses map[netip.Prefix]int // only kept with a limit
}

// NewRoom returns room for connections within the limits. Together they keep at most memory bytes, or any number if memory is 0.
func NewRoom(limits config.Limits, memory int) *Room {
	return &Room{most: limits.Connections, mostOfAddress: limits.AddressConnections, memory: memory, addresses: map[netip.Prefix]int{}}
}

// NewOperatorsRoom returns room for the listener of operators, which that of clients takes nothing from.
func NewOperatorsRoom(limits config.Limits) *Room {
	return &Room{most: operators, mostOfAddress: limits.AddressConnections, addresses: map[netip.Prefix]int{}}
}

// enter counts a connection in that keeps so many bytes, or returns the limit in its way.
func (r *Room) enter(address netip.Prefix, bytes int) (limit string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.open >= r.most:
		return "connections"
	case r.mostOfAddress > 0 && r.addresses[address] >= r.mostOfAddress:
		return "address-connections"
	case r.memory > 0 && r.kept+bytes > r.memory:
		return "memory"
	case r.mostOfAddress > 0:
		r.addresses[address]++
	}
	r.open++
	r.kept += bytes
	return ""
}

func (r *Room) leave(address netip.Prefix, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open--
	r.kept -= bytes
	if r.addresses[address]--; r.addresses[address] <= 0 {
		delete(r.addresses, address)
	}
}

// limited is a listener that closes connections beyond the limits as they come.
type limited struct {
	net.Listener
	front Front
	cost  int // bytes that a connection keeps
}

// Accept returns the next connection within the limits.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		address, meter := front.Neighbours(front.Host(c.RemoteAddr())), l.front.Meter
		if limit := l.front.Room.enter(address, l.cost); limit != "" {
			meter.Refused(limit)
			_ = c.Close() // nothing was read or written
			continue
		}
		meter.Opened()
		bound(c)
		within := &conn{Conn: c, leave: sync.OnceFunc(func() {
			meter.Closed()
			l.front.Room.leave(address, l.cost)
		})}
		switch {
		case l.front.Behind > 0:
			return newBehind(within, l.front.Memory, l.front.Behind), nil
		case l.front.Memory != nil:
			return newCounted(within, l.front.Memory, l.front.Patience), nil
		}
		return within, nil
	}
}

// buffer is how many bytes the kernel may keep for a connection, for each way. It keeps double, for
// its own needs. By itself it would take megabytes from a client that sends, and for one that does
// not read.
const buffer = 128 << 10

// bound bounds the memory that the kernel keeps for a connection.
func bound(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		// An error means that the client is gone, which the first read will report.
		_ = tcp.SetReadBuffer(buffer)
		_ = tcp.SetWriteBuffer(buffer)
	}
}

// conn is a connection that makes room when it is closed.
type conn struct {
	net.Conn
	leave func()
}

// Close closes the connection.
func (c *conn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// CloseWrite closes the writing side of the connection. Reads go on.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

type uncounted struct{}

func (uncounted) Opened()        {}
func (uncounted) Closed()        {}
func (uncounted) Refused(string) {}
