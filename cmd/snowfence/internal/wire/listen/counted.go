package listen

import (
	"net"
	"sync/atomic"

	"snowfence.example/snowfence/cmd/snowfence/internal/budget"
)

const (
	// free is how many bytes of requests that are not complete a connection may have beside the budget, and the
	// step in which it takes more.
	free = 4 << 10

	// mostUnfinished is the most that it takes. Libraries keep no more for what a front has not seen yet.
	mostUnfinished = 96 << 10
)

// Counted is a connection that takes what it has received from a budget, until its front says that the
// requests are complete. Reads fail with [budget.ErrSpent] when there is nothing left.
type Counted struct {
	*conn
	memory *budget.Budget

	// A library may read on while the front takes a request, so both are atomic. What is taken from the budget is
	// added here after that, and given back only by the swap that takes it from here.
	came  atomic.Int64 // bytes since the last complete request
	taken atomic.Int64
}

// Read reads from the client.
func (c *Counted) Read(p []byte) (int, error) {
	n, err := c.conn.Read(p)
	if came := c.came.Add(int64(n)); came > free {
		want := min((came+free-1)/free*free, mostUnfinished) - c.taken.Load()
		if want > 0 && c.memory.Take(int(want)) != nil {
			return 0, budget.ErrSpent
		}
		c.taken.Add(max(want, 0))
	}
	return n, err
}

// complete gives back what was taken for requests that the front has now.
func (c *Counted) complete() {
	if c.came.Load() != 0 {
		c.came.Store(0)
	}
	if c.taken.Load() > 0 {
		c.memory.Give(int(c.taken.Swap(0)))
	}
}

// Close closes the connection.
func (c *Counted) Close() error {
	defer c.complete()
	return c.conn.Close()
}

// Address is the address of the other end of a connection, and the connection.
type Address struct {
	net.Addr
	Conn *Counted
}

// RemoteAddr is the address of the client, an [Address].
func (c *Counted) RemoteAddr() net.Addr { return Address{c.conn.RemoteAddr(), c} }

// Complete says that a front has a request of a connection, and answers for its memory from here on.
func Complete(remote net.Addr) {
	if of, ok := remote.(Address); ok {
		of.Conn.complete()
	}
}
