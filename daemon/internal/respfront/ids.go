package respfront

import (
	"bytes"
	"errors"
	"fmt"

	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/kind"
)

// incr mints an id later, together with the ids of the next commands.
func (c *conn) incr(args [][]byte) {
	if c.key != string(args[0]) {
		c.settle()
		c.use(args[0])
	}
	c.pending++
	// Most pipelines repeat one command, so its bytes are compared and not parsed.
	for c.silence != silentNow && bytes.HasPrefix(c.data[c.next:], c.wire) {
		c.next += len(c.wire)
		c.pending++
		c.answered++
	}
}

// use makes a generator the present one.
func (c *conn) use(key []byte) {
	if c.key != string(key) {
		c.key = string(key)
	}
}

// settle mints the ids of INCRs that wait, and answers them.
func (c *conn) settle() {
	n := c.pending
	if n == 0 {
		return
	}
	c.pending = 0
	use, err := c.client.Use(c.key)
	if err != nil {
		c.failAll(err, n)
		return
	}
	for most := use.Most(); n > 0 && !c.broken; {
		some := min(n, most)
		switch err := c.mintNumbers(use, some); {
		case err == nil:
			c.writeNumbers((*reply).integer)
			n -= some
		case some > 1:
			most = 1 // the rest of a rate or a tick may be enough for a few
		default:
			c.failAll(err, n)
			return
		}
	}
}

// failAll answers n INCRs with an error.
func (c *conn) failAll(err error, n int) {
	for range n {
		c.problem(err)
		c.flush()
	}
}

// mint mints n ids of a generator into the batch.
func (c *conn) mint(use front.Use, n int) error {
	c.batch.Reset()
	before := c.batched
	c.client.Release(before) // the answer before is written, or its text is short
	var err error
	if c.batched, err = use.Hold(n); before > mostPooled && c.batched < before {
		*c.batch = kind.Batch{}
	}
	if err != nil {
		return err
	}
	defer c.config.Memory.Give(c.holdText())
	return use.Mint(c.ctx, n, c.batch)
}

// release gives the memory of the batch back, so that connections keep only the memory that they use.
func (c *conn) release() {
	if c.client.Release(c.batched); c.batched > mostPooled {
		*c.batch = kind.Batch{}
	}
	c.batched = 0
}

// holdText takes the memory of a long text while the connection waits for ids, and returns the number
// of bytes. If the memory is used up, it writes the text and drops it.
func (c *conn) holdText() int {
	most := cap(c.text)
	if most <= fewText {
		return 0
	}
	if c.config.Memory.Take(most) != nil {
		c.write()
		c.text, most = make([]byte, 0, fewText), 0
	}
	return most
}

// errTexts is returned when a client asks for numbers, and the ids are texts.
var errTexts = errors.New("the ids of this generator are no numbers")

// mintNumbers is mint for numbers alone. It does not use up texts.
func (c *conn) mintNumbers(use front.Use, n int) error {
	if use.Form() > kind.Number {
		return errTexts
	}
	return c.mint(use, n)
}

// incrBy reserves consecutive numbers. As in Redis the reply is the counter's new value: the last
// of them. With an increment of 1 it is INCR, and some clients, such as redis-py, send that as INCR.
func (c *conn) incrBy(args [][]byte) {
	n, ok := count(args[1])
	switch {
	case !ok:
		c.refuse("ERR value is not an integer or out of range")
		return
	case n == 1:
		c.incr(args[:1])
		return
	}
	c.use(args[0])
	defer c.config.Memory.Give(c.holdText())
	use, err := c.client.Use(c.key)
	if err != nil {
		c.problem(err)
		return
	}
	first, err := use.Range(c.ctx, n)
	if err != nil {
		c.problem(err)
		return
	}
	c.integer(int64(first) + int64(n) - 1)
}

// idNext answers ID.NEXT key [COUNT n] [RANGES].
func (c *conn) idNext(args [][]byte) {
	c.use(args[0])
	use, err := c.client.Use(c.key)
	if err != nil {
		c.problem(err)
		return
	}
	n, list, ranges := 1, false, false
	for rest := args[1:]; len(rest) > 0; {
		switch {
		case is(rest[0], "COUNT") && len(rest) > 1:
			if n, list = count(rest[1]); !list {
				c.problem(use.InvalidCount(string(rest[1])))
				return
			}
			rest = rest[2:]
		case is(rest[0], "RANGES"):
			ranges, rest = true, rest[1:]
		default:
			c.refuse("ERR syntax error, must be ID.NEXT key [COUNT n] [RANGES]")
			return
		}
	}
	mint := c.mint
	if ranges {
		mint = c.mintNumbers
	}
	switch err = mint(use, n); {
	case err != nil:
		c.problem(err)
	case ranges:
		c.writeRanges()
	case list:
		c.array(n)
		c.writeIDs()
	default:
		c.writeIDs()
	}
}

// writeIDs writes the batch as bulk strings.
func (c *conn) writeIDs() {
	if c.batch.Form() == kind.Number {
		c.writeNumbers((*reply).bulkNumber)
		return
	}
	for text := range c.batch.Texts() {
		c.bulk(text)
		c.flush()
	}
}

// writeNumbers writes the numbers of the batch in one of two forms, which both end with the digits
// and the end of a line.
func (c *conn) writeNumbers(write func(*reply, int64)) {
	size := 0 // of the text of the number before
	for i, id := range c.batch.Numbers() {
		// Nine of ten numbers that follow each other differ in the last digit alone.
		if size > 0 && id%10 != 0 && id == c.batch.Numbers()[i-1]+1 {
			c.text = append(c.text, c.text[len(c.text)-size:]...)
			c.text[len(c.text)-len("0\r\n")]++
		} else {
			size = -len(c.text)
			write(&c.reply, int64(id))
			size += len(c.text)
		}
		if len(c.text) >= chunk {
			c.flush()
			size = 0
		}
	}
}

// writeRanges writes first, count, first, count, … of numbers that follow each other.
func (c *conn) writeRanges() {
	runs := 0
	for range c.batch.Ranges() {
		runs++
	}
	c.array(2 * runs)
	for first, n := range c.batch.Ranges() {
		c.bulkNumber(int64(first))
		c.bulkNumber(int64(n))
		c.flush()
	}
}

// decode answers ID.DECODE id [LAYOUT l | GENERATOR key].
func (c *conn) decode(args [][]byte) {
	layout, generator := "", ""
	switch rest := args[1:]; {
	case len(rest) == 0:
	case len(rest) == 2 && is(rest[0], "LAYOUT"):
		layout = string(rest[1])
	case len(rest) == 2 && is(rest[0], "GENERATOR"):
		generator = string(rest[1])
	default:
		c.refuse("ERR syntax error, must be ID.DECODE id [LAYOUT layout | GENERATOR key]")
		return
	}
	document, err := c.client.Decode(string(args[0]), layout, generator)
	if err == nil {
		err = c.document(document)
	}
	if err != nil {
		c.problem(err)
	}
}

// get refuses to mint.
func (c *conn) get(args [][]byte) {
	c.reject(fmt.Sprintf("ERR GET never mints an id, because its reply may be cached: use INCR %s or ID.NEXT %[1]s", clip(args[0])))
}
