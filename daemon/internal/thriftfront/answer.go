package thriftfront

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/internal/session"
	"snowfence.example/snowfence/daemon/kind"
)

// connection is one client.
type connection struct {
	*Config

	client    front.Client
	transport *transport
	thrift    thrift.TProtocol // of the present message
	batch     kind.Batch

	agent string // the last user agent
	count func() // an id of it
}

// answer makes the answer to a message. The connection is at its end after an error, once its client has the answer.
func (c *connection) answer(ctx context.Context) error {
	name, message, sequence, err := c.thrift.ReadMessageBegin(ctx)
	if err != nil {
		return err
	}
	if message != thrift.CALL {
		return fmt.Errorf("a message is of type %d, must be a call", message)
	}
	agent, err := c.arguments(ctx)
	if err != nil {
		wrong := thrift.NewTApplicationException(thrift.PROTOCOL_ERROR, err.Error())
		c.reply(ctx, name, sequence, 0, wrong)
		return err
	}
	if err := c.transport.end(); err != nil {
		return err
	}
	value, wrong := c.call(ctx, name, agent)
	c.reply(ctx, name, sequence, value, wrong)
	return nil
}

// ended counts the end of a connection if the client is to blame.
func (c *connection) ended(err error) {
	var network net.Error
	if errors.Is(err, io.EOF) || errors.Is(err, session.ErrDraining) || errors.As(err, &network) {
		return
	}
	c.Meter.Failed("bad-message")
}

// arguments reads the arguments of any method: a user agent, or nothing.
func (c *connection) arguments(ctx context.Context) (agent string, err error) {
	if _, err := c.thrift.ReadStructBegin(ctx); err != nil {
		return "", err
	}
	for {
		_, of, field, err := c.thrift.ReadFieldBegin(ctx)
		switch {
		case err != nil:
			return "", err
		case of == thrift.STOP:
			return agent, errors.Join(c.thrift.ReadStructEnd(ctx), c.thrift.ReadMessageEnd(ctx))
		case field == 1 && of == thrift.STRING:
			agent, err = c.thrift.ReadString(ctx)
		default:
			err = c.thrift.Skip(ctx, of)
		}
		if err != nil {
			return "", err
		}
	}
}

// reply writes a method's value, or the exception if it is not nil. It writes to memory, which can't
// fail.
func (c *connection) reply(ctx context.Context, name string, sequence int32, value int64, wrong thrift.TApplicationException) {
	p := c.thrift
	if wrong != nil {
		_ = p.WriteMessageBegin(ctx, name, thrift.EXCEPTION, sequence)
		_ = wrong.Write(ctx, p)
	} else {
		_ = p.WriteMessageBegin(ctx, name, thrift.REPLY, sequence)
		_ = p.WriteStructBegin(ctx, "")
		_ = p.WriteFieldBegin(ctx, "", thrift.I64, 0)
		_ = p.WriteI64(ctx, value)
		_ = p.WriteFieldEnd(ctx)
		_ = p.WriteFieldStop(ctx)
		_ = p.WriteStructEnd(ctx)
	}
	_ = p.WriteMessageEnd(ctx)
}

// call calls a method of the service.
func (c *connection) call(ctx context.Context, method, agent string) (int64, thrift.TApplicationException) {
	switch method {
	case "get_id":
		return c.id(ctx, agent)
	case "get_timestamp":
		return c.client.Now().UnixMilli(), nil
	case "get_worker_id", "get_datacenter_id":
		datacenter, worker, err := c.worker()
		switch {
		case err != nil:
			return 0, c.problem(err)
		case method == "get_worker_id":
			return worker, nil
		}
		return datacenter, nil
	}
	c.Meter.Failed("unknown-method")
	return 0, thrift.NewTApplicationException(thrift.UNKNOWN_METHOD, "unknown method "+method)
}

// id mints an id for a user agent.
func (c *connection) id(ctx context.Context, agent string) (int64, thrift.TApplicationException) {
	if !validAgent(agent) {
		c.Meter.Failed("bad-user-agent")
		return 0, internal(fmt.Sprintf("InvalidUserAgentError: useragent is %.64q, must be a letter, and then letters, digits and hyphens", agent))
	}
	c.batch.Reset()
	use, err := c.client.Use(c.Generator)
	if err == nil {
		err = use.Mint(ctx, 1, &c.batch)
	}
	if err != nil {
		return 0, c.problem(err)
	}
	ids := c.batch.Numbers()
	if len(ids) != 1 {
		c.Meter.Failed(front.UnknownGenerator.String())
		return 0, internal(fmt.Sprintf("generator %s mints %s ids, and Thrift needs numbers: an operator must set thrift-generator", c.Generator, c.batch.Form()))
	}
	if agent != c.agent {
		c.agent, c.count = agent, c.Meter.Agent(agent)
	}
	c.count()
	return int64(ids[0]), nil
}

// validAgent reports whether a user agent is one by Twitter's rule: [a-zA-Z][a-zA-Z\-0-9]*
func validAgent(agent string) bool {
	for i := range len(agent) {
		switch b := agent[i]; {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z':
		case i > 0 && (b == '-' || b >= '0' && b <= '9'):
		default:
			return false
		}
	}
	return agent != ""
}

// worker returns the worker id that the generator holds, in its two parts.
func (c *connection) worker() (datacenter, worker int64, err error) {
	statuses, err := c.client.Statuses()
	if err != nil {
		return 0, 0, err
	}
	for _, s := range statuses {
		switch {
		case s.Name != c.Generator:
		case s.Lease != nil && s.Lease.Term > 0:
			return s.Lease.Layout.SplitWorker(s.Lease.Worker)
		case s.Problem != nil:
			return 0, 0, s.Problem
		default:
			return 0, 0, &front.Problem{Type: front.LeaseUnavailable, Detail: fmt.Sprintf("generator %s of kind %s has no worker id", s.Name, s.Kind)}
		}
	}
	_, err = c.client.Use(c.Generator)
	return 0, 0, err
}

// problem is an error of the service as old clients understand it.
func (c *connection) problem(err error) thrift.TApplicationException {
	p := front.ProblemOf(err)
	c.Meter.Failed(p.Type.String())
	text := p.Type.String() + ": " + p.Detail
	if p.Type == front.ClockUnsafe {
		text = "InvalidSystemClock: " + text
	}
	if p.RetryAfter > 0 {
		text += "; retry after " + p.RetryAfter.Round(time.Millisecond).String()
	}
	return internal(text)
}

func internal(message string) thrift.TApplicationException {
	return thrift.NewTApplicationException(thrift.INTERNAL_ERROR, message)
}
