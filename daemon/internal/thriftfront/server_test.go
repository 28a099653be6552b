package thriftfront

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/fronttest"
	"snowfence.example/snowfence/daemon/internal/metrics"
	"snowfence.example/snowfence/daemon/internal/service"
	"snowfence.example/snowfence/daemon/kind"
)

// counting is a minter that counts from 1, and holds worker 26 of datacenter 11 in Twitter's layout.
type counting struct {
	fronttest.Numbers
	lost bool
}

func (m *counting) Caps() kind.Caps { return kind.Caps{Lease: m.status} }

func (m *counting) status() kind.Lease {
	twitter, _ := snowfence.PresetByName("twitter") // there is one
	s := kind.Lease{Layout: twitter.Layout, Worker: 11<<5 | 26, Term: 1}
	if m.lost {
		s.Term = 0
	}
	return s
}

// stopped is a clock that stands still.
type stopped struct{ snowfence.Clock }

func (stopped) Wall() time.Time { return time.UnixMilli(now) }

const now = 1_541_815_603_606

var limits = config.Limits{Batch: 10, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, Session: 10 * time.Second}

// newFront returns a front of a generator "default".
func newFront(t testing.TB, minter kind.Minter, limits config.Limits) *Server {
	t.Helper()
	settings := fronttest.Settings(t, func(c *config.Config) { c.Limits = limits })
	s := fronttest.Service(t, service.Config{Settings: settings, Clock: stopped{snowfence.SystemClock()}}, map[string]kind.Minter{"default": minter})
	return New(Config{
		Service: s, Generator: "default", Limits: s.Limits(),
		Meter: metrics.NewFront("thrift", func() time.Duration { return 0 }),
	})
}

// serve serves such a front on a loopback address until the end of the test.
func serve(t testing.TB, minter kind.Minter, limits config.Limits) (address string) {
	t.Helper()
	return fronttest.Serve(t, newFront(t, minter, limits), nil)
}

// dialect is how a client speaks.
type dialect struct{ framed, compact bool }

func (d dialect) String() string { return fmt.Sprintf("framed %t, compact %t", d.framed, d.compact) }

func dialects() []dialect {
	return []dialect{{false, false}, {false, true}, {true, false}, {true, true}}
}

// client is Apache's client of the service.
type client struct {
	t         testing.TB
	calls     *thrift.TStandardClient
	transport thrift.TTransport
}

// over returns a client that speaks a dialect over a transport.
func (d dialect) over(t testing.TB, socket thrift.TTransport) *client {
	t.Helper()
	transport := thrift.TTransport(thrift.NewTBufferedTransport(socket, 512))
	if d.framed {
		transport = thrift.NewTFramedTransportConf(socket, nil)
	}
	protocol := d.protocol(transport)
	return &client{t, thrift.NewTStandardClient(protocol, protocol), transport}
}

func (d dialect) dial(t testing.TB, address string) *client {
	t.Helper()
	socket := thrift.NewTSocketConf(address, nil)
	if err := socket.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	return d.over(t, socket)
}

// call calls a method with a user agent.
func (c *client) call(method, agent string) (int64, error) {
	c.t.Helper()
	var result value
	_, err := c.calls.Call(context.Background(), method, arguments{agent: agent}, &result)
	return int64(result), err
}

// wantFault calls a method and checks its exception.
func (c *client) wantFault(method, agent string, of int32, text string) {
	c.t.Helper()
	_, err := c.call(method, agent)
	var fault thrift.TApplicationException
	if !errors.As(err, &fault) || fault.TypeId() != of || !strings.Contains(fault.Error(), text) {
		c.t.Errorf("%s %q: %v, want type %d, text %q", method, agent, err, of, text)
	}
}

// arguments are get_id's, after a field of a later version of the service.
type arguments struct{ agent string }

func (a arguments) Write(ctx context.Context, p thrift.TProtocol) error {
	return errors.Join(
		p.WriteStructBegin(ctx, ""),
		p.WriteFieldBegin(ctx, "", thrift.LIST, 7), p.WriteListBegin(ctx, thrift.STRING, 2),
		p.WriteString(ctx, "a"), p.WriteString(ctx, "b"), p.WriteListEnd(ctx), p.WriteFieldEnd(ctx),
		p.WriteFieldBegin(ctx, "", thrift.STRING, 1), p.WriteString(ctx, a.agent), p.WriteFieldEnd(ctx),
		p.WriteFieldStop(ctx), p.WriteStructEnd(ctx),
	)
}

func (arguments) Read(context.Context, thrift.TProtocol) error {
	return errors.New("a client sends them")
}

// value is the i64 of a reply.
type value int64

func (*value) Write(context.Context, thrift.TProtocol) error { return errors.New("a server sends it") }

func (v *value) Read(ctx context.Context, p thrift.TProtocol) error {
	_, err := p.ReadStructBegin(ctx)
	if err != nil {
		return err
	}
	_, of, field, err := p.ReadFieldBegin(ctx)
	if err != nil || of != thrift.I64 || field != 0 {
		return fmt.Errorf("field %d of type %d: %w", field, of, err)
	}
	n, err := p.ReadI64(ctx)
	*v = value(n)
	_, stop, _, last := p.ReadFieldBegin(ctx)
	if stop != thrift.STOP {
		return fmt.Errorf("another field of type %d", stop)
	}
	return errors.Join(err, last)
}

func TestOnePortServesEveryTransportAndProtocol(t *testing.T) {
	address := serve(t, new(counting), limits)
	last := int64(0)
	for _, d := range dialects() {
		c := d.dial(t, address)
		for range 3 {
			id, err := c.call("get_id", "old-client-2010")
			if err != nil || id != last+1 {
				t.Fatalf("%s: id %d after %d, %v", d, id, last, err)
			}
			last = id
		}
		for method, want := range map[string]int64{"get_worker_id": 26, "get_datacenter_id": 11, "get_timestamp": now} {
			if got, err := c.call(method, ""); err != nil || got != want {
				t.Errorf("%s: %s is %d, %v, want %d", d, method, got, err, want)
			}
		}
		c.wantFault("get_id", "", thrift.INTERNAL_ERROR, `InvalidUserAgentError: useragent is ""`)
		c.wantFault("get_ids", "a", thrift.UNKNOWN_METHOD, "unknown method get_ids")
		if id, err := c.call("get_id", "a"); err != nil || id != last+1 {
			t.Errorf("%s: after errors: id %d after %d, %v", d, id, last, err)
		}
		last++
	}
}

func TestUserAgentIsALetterThenLettersDigitsAndHyphens(t *testing.T) {
	for agent, want := range map[string]bool{
		"a": true, "Z": true, "a-1": true, "gizmoduck2": true, "a-": true, strings.Repeat("a", maxText): true,
		"": false, "1a": false, "-a": false, "a b": false, "a_b": false, "a\n": false, "é": false, "a\x00": false,
	} {
		if got := validAgent(agent); got != want {
			t.Errorf("%q: %t", agent, got)
		}
	}
}

func TestErrorsAreApplicationExceptions(t *testing.T) {
	for _, test := range []struct {
		minter kind.Minter
		method string
		want   string
	}{
		{&fronttest.Numbers{Err: snowfence.ErrClockBehind}, "get_id", "InvalidSystemClock: clock-unsafe: "},
		{&fronttest.Numbers{Err: kind.ErrUnavailable}, "get_id", "retry after 1s"},
		{&fronttest.Numbers{Err: errors.New("secret")}, "get_id", "internal: the server's log shows more"},
		{fronttest.Texts{}, "get_id", "generator default mints text ids, and Thrift needs numbers"},
		{&counting{lost: true}, "get_worker_id", "has no worker id"},
		{nil, "get_id", "starting: "},
		{nil, "get_datacenter_id", "starting: "},
	} {
		c := dialect{true, false}.dial(t, serve(t, test.minter, limits))
		c.wantFault(test.method, "a", thrift.INTERNAL_ERROR, test.want)
	}
}

func TestGeneratorThatIsNotThereIsNamed(t *testing.T) {
	f := newFront(t, new(counting), limits)
	f.config.Generator = "orders"
	c := dialect{}.dial(t, fronttest.Serve(t, f, nil))
	c.wantFault("get_id", "a", thrift.INTERNAL_ERROR, `unknown-generator: generator is "orders"`)
	c.wantFault("get_worker_id", "a", thrift.INTERNAL_ERROR, `unknown-generator: generator is "orders"`)
}

func TestMessagesSentAtOnceAreAnsweredInOrder(t *testing.T) {
	address := serve(t, new(counting), limits)
	for _, d := range dialects() {
		sent := message(t, d, "get_id", "a")
		socket := connect(t, address)
		if _, err := socket.Write([]byte(strings.Repeat(string(sent), 200))); err != nil {
			t.Fatal(err)
		}
		c := d.over(t, thrift.NewTSocketFromConnConf(socket, nil))
		protocol := d.protocol(c.transport)
		last := value(0)
		for range 200 {
			var id value
			if _, _, _, err := protocol.ReadMessageBegin(t.Context()); err != nil {
				t.Fatalf("%s: %v", d, err)
			}
			if err := id.Read(t.Context(), protocol); err != nil || id <= last {
				t.Fatalf("%s: %d after %d, %v", d, id, last, err)
			}
			last = id
		}
	}
}

// protocol returns the reader of a dialect's answers from a transport.
func (d dialect) protocol(transport thrift.TTransport) thrift.TProtocol {
	if d.compact {
		return thrift.NewTCompactProtocolConf(transport, nil)
	}
	return thrift.NewTBinaryProtocolConf(transport, nil)
}

// message is a call as a client sends it.
func message(t testing.TB, d dialect, method, agent string) []byte {
	t.Helper()
	memory := thrift.NewTMemoryBuffer()
	c := d.over(t, memory)
	protocol := d.protocol(c.transport)
	if err := errors.Join(
		protocol.WriteMessageBegin(t.Context(), method, thrift.CALL, 1), arguments{agent}.Write(t.Context(), protocol),
		protocol.WriteMessageEnd(t.Context()), protocol.Flush(t.Context()),
	); err != nil {
		t.Fatal(err)
	}
	return memory.Bytes()
}

func connect(t testing.TB, address string) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestBadMessageEndsTheConnection(t *testing.T) {
	address := serve(t, new(counting), limits)
	good := string(message(t, dialect{}, "get_id", "a"))
	for name, sent := range map[string]string{
		"a huge frame":           "\x7f\xff\xff\xff",
		"a frame above the most": "\x00\x00\x08\x01" + strings.Repeat("a", maxMessage+1),
		"a frame of nothing":     "\x00\x00\x00\x00",
		"a frame that lies":      "\x00\x00\x00\x08" + good,
		"THeader":                "\x00\x00\x00\x20\x0f\xff\x00\x00" + strings.Repeat("\x00", 28),
		"HTTP":                   "GET / HTTP/1.1\r\n\r\n",
		"RESP":                   "*1\r\n$4\r\nPING\r\n",
		"a huge name":            "\x80\x01\x00\x01\x7f\xff\xff\xff",
		"a negative name":        "\x80\x01\x00\x01\xff\xff\xff\xff",
		"a huge compact name":    "\x82\x21\x01\xff\xff\xff\xff\x07",
		"an answer":              "\x80\x01\x00\x02" + good[4:],
		"a oneway call":          "\x80\x01\x00\x04" + good[4:],
		"a field without end":    good[:len(good)-1] + strings.Repeat("\x0b\x00\x02\x00\x00\x00\x01a", maxMessage),
		"structs in structs":     good[:len(good)-1] + strings.Repeat("\x0c\x00\x02", maxMessage),
		"a huge list":            good[:len(good)-1] + "\x0f\x00\x02\x0c\x7f\xff\xff\xff" + strings.Repeat("\x00", 2*maxMessage),
		"a huge user agent":      string(message(t, dialect{}, "get_id", strings.Repeat("a", maxText+1))),
	} {
		c := connect(t, address)
		if _, err := io.WriteString(c, sent); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		// Unread bytes make the end of a connection a reset.
		answer, _ := io.ReadAll(c)
		if strings.HasPrefix(string(answer), "\x80\x01\x00\x02") {
			t.Errorf("%s: answered with a value", name)
		}
	}
	if id, err := (dialect{}).dial(t, address).call("get_id", "a"); err != nil || id != 1 {
		t.Errorf("another client: id %d, %v; a bad message must not mint", id, err)
	}
}

func TestMessageMustComeInTime(t *testing.T) {
	short := limits
	short.ReadTimeout = 100 * time.Millisecond
	address := serve(t, new(counting), short)
	good := message(t, dialect{}, "get_id", "a")
	for name, sent := range map[string][]byte{
		"a connection that sends nothing": nil,
		"half a message":                  good[:10],
		"one and a half":                  slices.Concat(good, good[:10]),
	} {
		c := connect(t, address)
		if _, err := c.Write(sent); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(c); err != nil {
			t.Errorf("%s: %v, want an end", name, err)
		}
	}
}

func TestClientMayBeSilentForASession(t *testing.T) {
	short := limits
	short.ReadTimeout, short.Session = 100*time.Millisecond, time.Second
	c := dialect{}.dial(t, serve(t, new(counting), short))
	began := time.Now()
	if _, err := c.call("get_id", "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.transport.Read(make([]byte, 1)); err == nil {
		t.Error("an answer without a call")
	}
	if d := time.Since(began); d < short.Session {
		t.Errorf("ended after %s of silence, must be %s", d, short.Session)
	}
}
