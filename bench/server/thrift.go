package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
)

// thrift compares the Thrift front with a bare server.
func (b bench) thrift(ctx context.Context) error {
	return b.pair(ctx, "thrift", dialThrift, 0.85)
}

// thriftCaller is a framed connection in the binary protocol.
type thriftCaller struct {
	net.Conn
	request []byte
	in      *bufio.Reader
	answer  []byte
}

func dialThrift(ctx context.Context, address string) (caller, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &thriftCaller{Conn: c, request: framedCall("get_id", "bench"), in: bufio.NewReader(c)}, nil
}

// framedCall is a call with one text.
func framedCall(method, text string) []byte {
	const version, call, textField, end = 0x80010000, 1, 11, 0
	message := binary.BigEndian.AppendUint32(nil, version|call)
	message = binary.BigEndian.AppendUint32(message, uint32(len(method)))
	message = append(message, method...)
	message = binary.BigEndian.AppendUint32(message, 1) // its number
	message = append(message, textField, 0, 1)
	message = binary.BigEndian.AppendUint32(message, uint32(len(text)))
	message = append(append(message, text...), end)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
}

// Call sends a call, and waits for its reply.
func (c *thriftCaller) Call() error {
	if _, err := c.Write(c.request); err != nil {
		return err
	}
	var size [4]byte
	if _, err := io.ReadFull(c.in, size[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(size[:])
	const most, reply = 1 << 10, 2
	if n < 4 || n > most {
		return fmt.Errorf("a reply of %d bytes", n)
	}
	c.answer = append(c.answer[:0], make([]byte, n)...)
	if _, err := io.ReadFull(c.in, c.answer); err != nil {
		return err
	}
	if c.answer[3] != reply {
		return fmt.Errorf("no reply, but %q", c.answer)
	}
	return nil
}

// echoThrift answers every call with one number, on the server and the transport that the library has
// for clients of any age.
func echoThrift(l net.Listener) error {
	const timeout = time.Hour // as the front's between requests
	config := &thrift.TConfiguration{SocketTimeout: timeout}
	protocols := thrift.NewTHeaderProtocolFactoryConf(config)
	return thrift.NewTSimpleServer4(oneNumber{}, listener{l, timeout}, thrift.NewTHeaderTransportFactoryConf(nil, config), protocols).Serve()
}

// listener is a listener for the library.
type listener struct {
	net.Listener
	timeout time.Duration
}

// Listen does nothing: it listens already.
func (l listener) Listen() error { return nil }

// Accept accepts a connection.
func (l listener) Accept() (thrift.TTransport, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return thrift.NewTSocketFromConnConf(c, &thrift.TConfiguration{SocketTimeout: l.timeout}), nil
}

// Interrupt ends Accept.
func (l listener) Interrupt() error { return l.Close() }

// oneNumber reads a call of any method, and replies with a number.
type oneNumber struct{}

// Process answers one call, in the steps that generated code has.
func (oneNumber) Process(ctx context.Context, in, out thrift.TProtocol) (bool, thrift.TException) {
	name, _, seq, err := in.ReadMessageBegin(ctx)
	if err != nil {
		return false, thrift.WrapTException(err)
	}
	if err := in.Skip(ctx, thrift.STRUCT); err != nil {
		return false, thrift.WrapTException(err)
	}
	if err := in.ReadMessageEnd(ctx); err != nil {
		return false, thrift.WrapTException(err)
	}
	for _, write := range []func() error{
		func() error { return out.WriteMessageBegin(ctx, name, thrift.REPLY, seq) },
		func() error { return out.WriteStructBegin(ctx, "result") },
		func() error { return out.WriteFieldBegin(ctx, "success", thrift.I64, 0) },
		func() error { return out.WriteI64(ctx, 1234567890123456789) },
		func() error { return out.WriteFieldEnd(ctx) },
		func() error { return out.WriteFieldStop(ctx) },
		func() error { return out.WriteStructEnd(ctx) },
		func() error { return out.WriteMessageEnd(ctx) },
		func() error { return out.Flush(ctx) },
	} {
		if err := write(); err != nil {
			return false, thrift.WrapTException(err)
		}
	}
	return true, nil
}

// ProcessorMap is what the library asks for, and does not use here.
func (oneNumber) ProcessorMap() map[string]thrift.TProcessorFunction { return nil }

// AddToProcessorMap is what the library asks for, and does not use here.
func (oneNumber) AddToProcessorMap(string, thrift.TProcessorFunction) {}
