package listen

import (
	"net"
	"sync"
	"time"

	"snowfence.example/snowfence/daemon/internal/budget"
	"snowfence.example/snowfence/daemon/internal/front"
)

const (
	// free is how many bytes of requests that are not complete a connection may have beside the budget, and the
	// step in which it takes more.
	free = 4 << 10

	// mostUnfinished is the most that it takes. Libraries keep at most so much for a request that a
	// front has not seen yet.
	mostUnfinished = 96 << 10
)

// Counted is a connection that takes the size of its received bytes from a budget, until its front reports
// that the requests are complete. Reads fail with [budget.ErrSpent] when there is nothing left.
type Counted struct {
	*conn
	memory   *budget.Budget
	patience time.Duration // for a request to be complete
	remote   net.Addr      // a [front.Address]; it stands here so that nothing is allocated

	mu     sync.Mutex // guards the fields below: a library may read on while the front takes a request
	came   int        // bytes since the last complete request
	taken  int        // of them, from the budget
	since  time.Time  // when the first of them came
	closed bool
}

func newCounted(c *conn, memory *budget.Budget, patience time.Duration) *Counted {
	counted := &Counted{conn: c, memory: memory, patience: patience}
	counted.remote = front.Address{Addr: c.RemoteAddr(), Conn: counted}
	return counted
}

// Read reads from the client.
func (c *Counted) Read(p []byte) (int, error) {
	n, err := c.conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.came += n; c.came <= free || c.closed {
		return n, err
	}
	// A request that takes longer has been ended. So the bytes before were not a request: frames of
	// HTTP/2 that keep nothing.
	if now := in(0); c.since.IsZero() {
		c.since = now
	} else if now.Sub(c.since) > c.patience {
		c.forget()
		c.came = n
	}
	want := min((c.came+free-1)/free*free, mostUnfinished) - c.taken
	if want > 0 {
		if c.memory.Take(want) != nil {
			return 0, &net.OpError{Op: "read", Net: "tcp", Err: budget.ErrSpent} // which net/http answers nothing to
		}
		c.taken += want
	}
	return n, err
}

// Complete gives the memory of requests back that the front has now.
func (c *Counted) Complete() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget()
}

// forget is Complete with the lock.
func (c *Counted) forget() {
	c.memory.Give(c.taken)
	c.came, c.taken, c.since = 0, 0, time.Time{}
}

// Close closes the connection.
func (c *Counted) Close() error {
	c.mu.Lock()
	c.forget()
	c.closed = true
	c.mu.Unlock()
	return c.conn.Close()
}

// RemoteAddr is the address of the client, a [front.Address].
func (c *Counted) RemoteAddr() net.Addr { return c.remote }
