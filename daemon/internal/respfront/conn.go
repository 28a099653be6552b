package respfront

import (
	"context"
	"errors"
	"net/netip"

	"snowfence.example/snowfence/daemon/internal/budget"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/kind"
)

// conn is one connection. Only its goroutine uses it.
type conn struct {
	*Server
	input
	reply

	ctx     context.Context //nolint:containedctx // it ends when the server cuts its connections off
	client  front.Client
	address netip.Addr

	wire  []byte      // the present command as it came
	parts [][]byte    // and in parts
	batch *kind.Batch // of the answer that is made

	batched int // bytes that are taken for the batch

	open    *transaction // nil outside of MULTI and EXEC
	silence silence      // of CLIENT REPLY

	answered int    // commands since the last write
	pending  int    // INCRs of key that are not minted yet
	key      string // the generator that was used last

	id         int64
	name       string // by CLIENT SETNAME
	authorized bool
	guesses    front.Guesses
	closing    bool // after the answers that are due
	broken     bool // a write failed: the rest must not be written
}

// mostUnread is how many bytes of answers one client may leave unread, and mostOfStranger one without a valid token.
const mostUnread, mostOfStranger = 8 << 20, 64 << 10

// answer answers the commands that were read, and writes the answers.
func (c *conn) answer() bool {
	s, _ := c.scratch.Get().(*scratch) // it holds nothing else
	c.text, c.batch = s.text, &s.batch
	for !c.closing && c.step() {
		c.flush()
	}
	c.write()
	c.release()
	s.text = c.text
	c.text, c.batch = nil, nil
	c.wire = nil // it and the parts keep a large buffer alive
	clear(c.parts[:cap(c.parts)])
	c.scratch.Put(s)
	return !c.closing
}

// step answers the next command. It returns false until one is complete.
func (c *conn) step() bool {
	var n int
	var err error
	c.parts, n, err = parse(c.data[c.next:], c.parts, boundsOf(c.authorized))
	switch {
	case err != nil:
		c.settle()
		c.unreadable(err)
		return false
	case n == 0:
		return false
	}
	c.wire = c.data[c.next : c.next+n]
	c.next += n
	if len(c.parts) > 0 {
		c.answered++
		c.do()
	} else if c.silence == silentNext {
		c.silence = silentNever // as in Redis, an empty line is the next command
	}
	if c.authorized {
		c.since, c.served = c.began, true // the client has time for its next command
	}
	return true
}

// unreadable answers a command that can't be read, and ends the connection.
func (c *conn) unreadable(err error) {
	c.closing = true
	if c.silence == silentNext {
		c.hush(silentNow)
	}
	c.meter.Failed("protocol-error")
	if !errors.Is(err, errWeb) {
		c.fail("ERR Protocol error: " + err.Error())
	}
}

// errUnread is the answer to a client that sends more and more, and reads nothing.
var errUnread = errors.New("too many bytes of answers are unread: read them before you send more commands")

// flush writes when there is enough to write.
func (c *conn) flush() {
	if len(c.text) >= chunk {
		c.write()
		c.began = c.meter.Began()
	}
}

// write writes the answers, once their ids are minted. A client that does not read them is cut off.
func (c *conn) write() {
	c.settle()
	if c.answered > 0 {
		// The answers may have waited for their ids. The client's time begins after that.
		c.began = c.meter.Answered(c.began, c.answered)
		c.processed.Add(int64(c.answered))
		c.answered = 0
		if c.authorized {
			c.since = c.began
		}
	}
	if len(c.text) == 0 || c.broken || c.silence.silent() {
		c.text = c.text[:0]
		return
	}
	_, err := c.net.Write(c.text)
	c.text = c.text[:0]
	most := mostUnread
	if !c.authorized {
		most = mostOfStranger
	}
	if err == nil && front.Unread(c.net.Conn) > most {
		err = errUnread
	}
	if err == nil {
		return
	}
	c.broken, c.closing = true, true
	if c.spent = errors.Is(err, budget.ErrSpent) || errors.Is(err, errUnread); c.spent {
		c.fail("TRYAGAIN " + err.Error())
		_, _ = c.net.Write(c.text)
		c.text = c.text[:0]
	}
}
