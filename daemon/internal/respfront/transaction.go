package respfront

import (
	"fmt"

	"snowfence.example/snowfence/daemon/internal/budget"
)

const (
	// maxQueued is the most commands of a transaction, and maxQueuedBytes are their most bytes.
	maxQueued, maxQueuedBytes = 50_000, 2 << 20
)

// transaction holds the commands after MULTI.
type transaction struct {
	commands int
	text     []byte // the commands as they came
	spoiled  bool   // a command was refused, so EXEC refuses all of them
}

// atOnce reports whether a command is answered within a transaction as it comes.
func (c *command) atOnce() bool {
	switch c.name {
	case "MULTI", "EXEC", "DISCARD", "WATCH", "RESET", "QUIT", "GET", "CLUSTER":
		return true
	}
	return false
}

// reject refuses a command before it is answered or queued. A transaction is spoiled by that.
func (c *conn) reject(text string) {
	c.refuse(text)
	if c.open != nil {
		c.forget()
		c.open.spoiled = true
	}
}

// forget gives up the commands of the transaction.
func (c *conn) forget() {
	if c.open != nil {
		c.memory.Give(cap(c.open.text))
		c.open.text = nil
	}
}

// end ends the transaction, if there is one.
func (c *conn) end() {
	c.forget()
	c.open = nil
}

// queue keeps the present command until EXEC.
func (c *conn) queue(known *command) {
	t, n := c.open, len(c.wire)
	switch {
	case known.name == "REPLY", known.name == "ACK", known.name == "GETACK":
		// The reply of EXEC begins with the number of replies in it.
		c.reject("ERR a command without a reply is not allowed inside a transaction")
		return
	case t.spoiled:
	case t.commands == maxQueued || len(t.text)+n > maxQueuedBytes:
		c.reject(fmt.Sprintf("ERR the transaction is too long: it may have %d commands in %d bytes; send several", maxQueued, maxQueuedBytes))
		return
	default:
		if err := t.grow(n, c.memory); err != nil {
			c.reject("TRYAGAIN " + err.Error())
			return
		}
		t.text = append(t.text, c.wire...)
		t.commands++
		c.answered-- // it is counted when EXEC answers it
	}
	c.simple("QUEUED")
}

// grow makes room for n bytes more.
func (t *transaction) grow(n int, memory *budget.Budget) error {
	had := cap(t.text)
	if len(t.text)+n <= had {
		return nil
	}
	size := max(2*had, len(t.text)+n)
	if err := memory.Take(size - had); err != nil {
		return err
	}
	t.text = append(make([]byte, 0, size), t.text...)
	return nil
}

func (c *conn) multi([][]byte) {
	if c.open != nil {
		c.refuse("ERR MULTI calls can not be nested")
		return
	}
	c.open = new(transaction)
	c.ok()
}

// exec answers the commands of the transaction. They are read again as if they came now, so ids are minted,
// and tokens and rates looked at, as of any pipeline. An error stands in the place of its command.
func (c *conn) exec(args [][]byte) {
	t := c.open
	switch {
	case len(args) > 0:
		c.end()
		c.refuse("EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command")
		return
	case t == nil:
		c.refuse("ERR EXEC without MULTI")
		return
	case t.spoiled:
		c.end()
		c.refuse("EXECABORT Transaction discarded because of previous errors.")
		return
	}
	c.open = nil
	c.array(t.commands)
	data, next := c.data, c.next
	c.data, c.next = t.text, 0
	for !c.closing && c.step() {
		c.flush()
	}
	c.settle()
	c.data, c.next = data, next
	c.memory.Give(cap(t.text))
}

func (c *conn) discard([][]byte) {
	if c.open == nil {
		c.refuse("ERR DISCARD without MULTI")
		return
	}
	c.end()
	c.ok()
}

// watch takes any keys. Clients can't read keys, so EXEC never acts on an old value.
func (c *conn) watch([][]byte) {
	if c.open != nil {
		c.refuse("ERR WATCH inside MULTI is not allowed")
		return
	}
	c.ok()
}

// silence is which replies a client wants, by CLIENT REPLY.
type silence uint8

const (
	silentNever silence = iota
	silentNext          // of the next command
	silentNow           // of the present command
	silentAlways
)

// silent reports whether replies that are made now are dropped.
func (s silence) silent() bool { return s >= silentNow }

// hush changes it. The replies that are made already belong to the time before.
func (c *conn) hush(s silence) {
	c.write()
	c.silence = s
}

// skipped runs a command and drops its reply, if the client asked for that. The command may end the
// silence, or ask for it again for the next command.
func (c *conn) skipped(answer func()) {
	if c.silence != silentNext {
		answer()
		return
	}
	c.hush(silentNow)
	answer()
	if c.silence == silentNow {
		c.hush(silentNever)
	}
}

// clientReply answers CLIENT REPLY. Only ON has a reply.
func (c *conn) clientReply(args [][]byte) {
	switch mode := args[0]; {
	case is(mode, "ON"):
		c.hush(silentNever)
		c.ok()
	case is(mode, "OFF"):
		c.hush(silentAlways)
	case is(mode, "SKIP") && c.silence != silentAlways:
		c.hush(silentNext)
	case is(mode, "SKIP"):
	default:
		c.refuse("ERR syntax error")
	}
}
