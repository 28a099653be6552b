package listen

import (
	"errors"
	"net"
	"net/netip"
	"sync"

	"snowfence.example/snowfence/cmd/snowfence/internal/config"
	"snowfence.example/snowfence/cmd/snowfence/internal/service"
)

// limited is a listener that closes connections beyond its limits as they come.
type limited struct {
	net.Listener
	most, mostOfAddress int // mostOfAddress is 0 for no limit
	meter               Meter

	mu        sync.Mutex // guards what follows
	open      int
	addresses map[netip.Prefix]int // only kept with a limit
}

func newLimited(l net.Listener, limits config.Limits, meter Meter) *limited {
	if meter == nil {
		meter = uncounted{}
	}
	return &limited{
		Listener: l, most: limits.Connections, mostOfAddress: limits.AddressConnections, meter: meter,
		addresses: map[netip.Prefix]int{},
	}
}

// Accept returns the next connection within the limits.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		address := service.Neighbours(Remote(c))
		if limit := l.enter(address); limit != "" {
			l.meter.Refused(limit)
			_ = c.Close() // nothing was read or written
			continue
		}
		l.meter.Opened()
		bound(c)
		return &conn{Conn: c, leave: sync.OnceFunc(func() { l.leave(address) })}, nil
	}
}

// buffer is how many bytes the kernel may keep for a connection, for each way. It keeps double, for
// its own needs. By itself it would take megabytes from a client that sends, and for one that does
// not read.
const buffer = 128 << 10

// bound bounds what the kernel keeps for a connection.
func bound(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		// An error means that the client is gone, which the first read will say.
		_ = tcp.SetReadBuffer(buffer)
		_ = tcp.SetWriteBuffer(buffer)
	}
}

// enter counts a connection in, or returns the limit in its way.
func (l *limited) enter(address netip.Prefix) (limit string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.open >= l.most:
		return "connections"
	case l.mostOfAddress > 0 && l.addresses[address] >= l.mostOfAddress:
		return "address-connections"
	case l.mostOfAddress > 0:
		l.addresses[address]++
	}
	l.open++
	return ""
}

func (l *limited) leave(address netip.Prefix) {
	l.meter.Closed()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.addresses[address]--; l.addresses[address] <= 0 {
		delete(l.addresses, address)
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

// CloseWrite ends what is written to the connection. Reads go on.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Remote returns the address of a connection's other end, without a zone; the zero address if it
// has none.
func Remote(c net.Conn) netip.Addr { return Host(c.RemoteAddr()) }

// Host is [Remote] of an address alone.
func Host(remote net.Addr) netip.Addr {
	if tcp, ok := remote.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}

type uncounted struct{}

func (uncounted) Opened()        {}
func (uncounted) Closed()        {}
func (uncounted) Refused(string) {}
