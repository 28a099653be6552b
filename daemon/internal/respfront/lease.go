package respfront

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/kind"
)

// claim answers LEASE.CLAIM key NOW ms [HOST host] [PID pid] [PROGRAM program].
func (c *conn) claim(args [][]byte) {
	c.lease(args, "NOW HOST PID PROGRAM", front.Use.Claim)
}

// extend answers LEASE.EXTEND key LEASE lease MARK mark NOW ms [HOST host] [PID pid] [PROGRAM program].
func (c *conn) extend(args [][]byte) {
	c.lease(args, "LEASE MARK NOW HOST PID PROGRAM", front.Use.Extend)
}

// giveBack answers LEASE.RELEASE key LEASE lease MARK mark [NEXT tick] [OPEN mark] [HOST host] [PID pid] [PROGRAM program].
func (c *conn) giveBack(args [][]byte) {
	c.lease(args, "LEASE MARK NEXT OPEN NOW HOST PID PROGRAM", func(use front.Use, ctx context.Context, f kind.LeaseForm) (kind.Lent, error) {
		return kind.Lent{}, use.Release(ctx, f)
	})
}

// lease answers a command about a lease: with the parts of the answer and their names, or with OK if
// there are none.
func (c *conn) lease(args [][]byte, words string, verb func(front.Use, context.Context, kind.LeaseForm) (kind.Lent, error)) {
	c.use(args[0])
	form, ok := leaseForm(args[1:], words)
	if !ok {
		c.refuse("ERR syntax error, must be a key, and each at most once with its value: " + words)
		return
	}
	use, err := c.client.Use(c.key)
	if err != nil {
		c.problem(err)
		return
	}
	defer c.config.Memory.Give(c.holdText())
	lent, err := verb(use, c.ctx, form)
	switch {
	case err != nil:
		c.problem(err)
	case lent.Lease == "":
		c.ok()
	default:
		c.answerLease(front.LeaseFields(lent))
	}
}

// leaseForm reads words with their values.
func leaseForm(args [][]byte, words string) (f kind.LeaseForm, ok bool) {
	at := map[string]*string{
		"NOW": &f.Now, "HOST": &f.Host, "PID": &f.PID, "PROGRAM": &f.Program, "LEASE": &f.Lease, "MARK": &f.Mark, "NEXT": &f.Next, "OPEN": &f.Open,
	}
	known := strings.Fields(words)
	for ; len(args) > 1; args = args[2:] {
		word := strings.ToUpper(string(args[0]))
		i := slices.Index(known, word)
		if i < 0 {
			return f, false
		}
		known[i] = ""
		*at[word] = string(args[1])
	}
	return f, len(args) == 0
}

// answerLease writes the parts of an answer, each after its name.
func (c *conn) answerLease(fields []front.LeaseField) {
	c.array(2 * len(fields))
	for _, f := range fields {
		c.bulkString(f.Name)
		if n, err := strconv.ParseInt(f.Text, 10, 64); f.Number && err == nil {
			c.integer(n)
		} else {
			c.bulkString(f.Text)
		}
	}
}
