package front

import (
	"net"
	"net/netip"
)

// Address is the address of a client, with its connection, which counts its bytes until a request is complete.
type Address struct {
	net.Addr
	Conn interface{ Complete() }
}

// Complete reports that a front has a request of a connection, and answers for its memory from here on.
func Complete(remote net.Addr) {
	if of, ok := remote.(Address); ok {
		of.Conn.Complete()
	}
}

// Host returns the address of a connection's other end, without a zone; the zero address without one.
func Host(remote net.Addr) netip.Addr {
	if of, ok := remote.(Address); ok {
		remote = of.Addr
	}
	if tcp, ok := remote.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}

// Neighbours returns the prefix that counts as one address: in IPv6 a host has a whole /64 to choose from.
func Neighbours(address netip.Addr) netip.Prefix {
	address = address.Unmap().WithZone("")
	bits := address.BitLen()
	if address.Is6() {
		bits = 64
	}
	return netip.PrefixFrom(address, bits).Masked()
}

// Unread returns how many bytes a connection, with TLS or without, keeps for a client that did not read them yet.
func Unread(c net.Conn) int {
	if secure, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = secure.NetConn()
	}
	if behind, ok := c.(interface{ Unread() int }); ok {
		return behind.Unread()
	}
	return 0
}
