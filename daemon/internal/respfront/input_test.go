package respfront

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/internal/fronttest"
	"snowfence.example/snowfence/daemon/internal/metrics"
	"snowfence.example/snowfence/daemon/internal/session"
	"snowfence.example/snowfence/daemon/kind"
)

// scripted is a connection whose reads a test writes. It keeps all written bytes.
type scripted struct {
	net.Conn
	read    func([]byte) (int, error)
	written bytes.Buffer
	largest int // of the writes
	closed  chan struct{}
	address netip.Addr // of the client

	now                   atomic.Int64 // the meter's clock
	readUntil, writeUntil int64        // of that clock
}

func (s *scripted) Read(p []byte) (int, error) { return s.read(p) }
func (s *scripted) Write(p []byte) (int, error) {
	if s.writeUntil > 0 && s.now.Load() > s.writeUntil {
		return 0, os.ErrDeadlineExceeded
	}
	s.largest = max(s.largest, len(p))
	return s.written.Write(p)
}
func (s *scripted) SetWriteDeadline(t time.Time) error { s.writeUntil = s.after(t); return nil }
func (s *scripted) SetReadDeadline(t time.Time) error  { s.readUntil = s.after(t); return nil }
func (s *scripted) after(t time.Time) int64 {
	return s.now.Load() + int64(time.Until(t).Round(time.Second))
}
func (s *scripted) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(s.address, 1))
}
func (s *scripted) LocalAddr() net.Addr { return &net.TCPAddr{} }
func (s *scripted) Close() error        { close(s.closed); return nil }

// Accept makes it a listener with one connection.
func (s *scripted) Accept() (net.Conn, error) {
	if s.Conn == nil {
		s.Conn = s
		return s, nil
	}
	<-s.closed
	return nil, net.ErrClosed
}
func (s *scripted) Addr() net.Addr { return &net.TCPAddr{} }

// play serves a connection until it ends, and returns how long that took by the meter's clock. Its reads
// may move that clock. A read that times out moves it to its deadline. A token is asked for if there is one.
func play(t *testing.T, token string, limits front.Limits, read func(now *atomic.Int64, p []byte) (int, error)) time.Duration {
	t.Helper()
	s := &scripted{}
	s.read = func(p []byte) (int, error) {
		n, err := read(&s.now, p)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			s.now.Store(s.readUntil)
		}
		return n, err
	}
	return newFixture(t, token).serveOne(s, limits)
}

// serveOne serves a connection until it ends, and returns how long that took by the meter's clock.
func (f *fixture) serveOne(s *scripted, limits front.Limits) time.Duration {
	f.t.Helper()
	const begun = time.Minute
	s.now.Store(int64(begun))
	s.closed = make(chan struct{})
	f.server.config.Limits = limits
	f.server.config.Meter = metrics.NewFront("resp", func() time.Duration { return time.Duration(s.now.Load()) })
	other := session.NewServer(f.server.serve)
	go func() { _ = other.Serve(s) }()
	select {
	case <-s.closed:
	case <-time.After(3 * time.Minute):
		f.t.Fatal("the connection does not end")
	}
	return time.Duration(s.now.Load()) - begun
}

func TestTimeThatIDsTakeIsNotTheClients(t *testing.T) {
	f := newFixture(t, "", func(c *config.Config) { c.Limits.Batch = 10_000 })
	s := &scripted{}
	f.numbers.Before = func() { s.now.Add(int64(9 * time.Second)) }
	script := []struct {
		after time.Duration // the answer to the last one
		text  string
	}{
		{0, "PING\r\n"}, {2 * time.Second, "INCR numbers\r\n"}, {5 * time.Second, "PING\r\n"},
		// The second of two ids is waited for after the first answer has begun to be written.
		{2 * time.Second, "ID.NEXT numbers COUNT 9000\r\nINCR numbers\r\n"}, {9 * time.Second, "PI"}, {time.Second, "NG\r\n"},
	}
	var waited time.Duration
	s.read = func(p []byte) (int, error) {
		if len(script) == 0 {
			return 0, io.EOF
		}
		until := time.Duration(s.readUntil - s.now.Load())
		if next := script[0].after - waited; until < next {
			s.now.Store(max(s.now.Load(), s.readUntil))
			waited += max(until, 0)
			return 0, os.ErrDeadlineExceeded
		}
		s.now.Add(int64(script[0].after - waited))
		n := copy(p, script[0].text)
		script, waited = script[1:], 0
		return n, nil
	}
	f.serveOne(s, front.Limits{ReadTimeout: 2 * time.Second, Session: 10 * time.Second, WriteTimeout: 3 * time.Second})
	if got := s.written.String(); !strings.HasPrefix(got, "+PONG\r\n:1\r\n+PONG\r\n*9000\r\n") || !strings.HasSuffix(got, "\r\n:9002\r\n+PONG\r\n") {
		t.Errorf("the client was left with %d pieces to send, after %q … %q", len(script), got[:min(len(got), 40)], got[max(len(got)-40, 0):])
	}
}

func TestCommandThatComesInDropsHasOneTimeout(t *testing.T) {
	for name, first := range map[string]string{"first command": "", "later command": "PING\r\n"} {
		drops := 0
		play(t, "", front.Limits{ReadTimeout: 10 * time.Second, Session: time.Hour, WriteTimeout: time.Second}, func(now *atomic.Int64, p []byte) (int, error) {
			if drops++; drops == 1 && first != "" {
				return copy(p, first), nil
			}
			now.Add(int64(time.Second))
			return copy(p, "P"), nil
		})
		if drops < 10 || drops > 12 {
			t.Errorf("%s: the connection ended after %d drops, one a second", name, drops)
		}
	}
}

func TestSilentClientIsLeftAfterItsSession(t *testing.T) {
	const token, day = "0123456789abcdef", 25 * time.Hour
	for name, c := range map[string]struct {
		token, address string
		session        time.Duration
		lasts          time.Duration // the connection, when its client is silent for a day
	}{
		"a set time":                {"", "127.0.0.1", time.Hour, time.Hour},
		"a set time, with a token":  {token, "192.0.2.1", time.Minute, time.Minute},
		"a stranger":                {"", "192.0.2.1", 0, time.Hour},
		"on this host":              {"", "127.0.0.1", 0, day},
		"on this host, by IPv6":     {"", "::1", 0, day},
		"far away, with a token":    {token, "192.0.2.1", 0, day},
		"far away, wrong token":     {"another-" + token, "192.0.2.1", 0, 10 * time.Second},
		"on this host, wrong token": {"another-" + token, "127.0.0.1", 0, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scripted{address: netip.MustParseAddr(c.address)}
			guard, script := "", []string{"INCR numbers\r\n", "INCR numbers\r\n"}
			if c.token != "" {
				guard, script[0] = token, "AUTH "+c.token+"\r\n"+script[0]
			}
			s.read = func(p []byte) (n int, err error) {
				switch until := s.readUntil - s.now.Load(); {
				case len(script) == 0:
					return 0, io.EOF
				case len(script) == 1 && until < int64(day):
					s.now.Store(s.readUntil)
					return 0, os.ErrDeadlineExceeded
				case len(script) == 1:
					s.now.Add(int64(day))
				}
				n, script = copy(p, script[0]), script[1:]
				return n, nil
			}
			lasted := newFixture(t, guard).serveOne(s, front.Limits{ReadTimeout: 10 * time.Second, Session: c.session, WriteTimeout: time.Second})
			if served := len(script) == 0; lasted != c.lasts || served != (c.lasts == day) {
				t.Errorf("the connection ended after %s, want %s; after a day it was served: %v", lasted, c.lasts, served)
			}
			if want := ":2\r\n"; c.lasts == day && !strings.HasSuffix(s.written.String(), want) {
				t.Errorf("after a day it is answered %q, want %q at the end", &s.written, want)
			}
		})
	}
}

// failing is a connection with one write that fails after some bytes, as at its deadline.
type failing struct {
	*scripted
	fails int // which write
}

func (f *failing) Write(p []byte) (int, error) {
	if f.fails--; f.fails == 0 {
		n, _ := f.scripted.Write(p[:len(p)/2])
		return n, os.ErrDeadlineExceeded
	}
	return f.scripted.Write(p)
}

func TestNothingIsWrittenAfterAWriteThatFailed(t *testing.T) {
	const commands = "ID.NEXT numbers COUNT 9000\r\nINCR numbers\r\nPING\r\n"
	answer := func(fails int) (written string, goesOn bool) {
		f := serviceFixture(t, "", func(c *config.Config) { c.Limits.Batch = 10_000 })
		s := &scripted{}
		c := f.bare(&failing{s, fails})
		c.data = append(c.data, commands...)
		goesOn = c.answer()
		return s.written.String(), goesOn
	}
	whole, _ := answer(0)
	for fails := 1; fails < 4; fails++ {
		got, goesOn := answer(fails)
		if goesOn || !strings.HasPrefix(whole, got) || len(got) == len(whole) {
			t.Errorf("write %d of an answer of %d bytes: %d bytes were written, the connection goes on: %v", fails, len(whole), len(got), goesOn)
		}
	}
}

func TestErrorsOfAPipelineAreWrittenInPieces(t *testing.T) {
	for name, minter := range map[string]kind.Minter{
		"starting": nil, "texts": fronttest.Texts{}, "failing": &fronttest.Numbers{Err: errors.New("broken")},
	} {
		f := serviceFixture(t, "")
		if minter != nil {
			if err := f.service.Serve("late", minter); err != nil {
				t.Fatal(err)
			}
		}
		s := &scripted{}
		c := f.bare(s)
		const command = "INCR late\r\n"
		n := maxCommand / len(command)
		c.data = []byte(strings.Repeat(command, n))
		c.answer()
		if got := strings.Count(s.written.String(), "\r\n"); got != n {
			t.Errorf("%s: %d replies to %d commands", name, got, n)
		}
		if s.largest > 2*chunk {
			t.Errorf("%s: the largest write has %d bytes, want at most %d", name, s.largest, 2*chunk)
		}
	}
}

func TestClientWithoutATokenGetsNoMoreTimeByCommands(t *testing.T) {
	limits := front.Limits{ReadTimeout: 10 * time.Second, Session: time.Hour, WriteTimeout: time.Second}
	asked := 0
	lasted := play(t, "0123456789abcdef", limits, func(now *atomic.Int64, p []byte) (int, error) {
		asked++
		now.Add(int64(time.Second))
		return copy(p, "PING\r\n"), nil
	})
	if lasted > 12*time.Second {
		t.Errorf("the connection lasted for %s, with %d commands", lasted, asked)
	}
}

// A handshake of TLS that timed out fails at once from then on. So its deadline must be its last.
func TestHandshakeIsNotTriedAgainAfterItsTimeout(t *testing.T) {
	reads := 0
	play(t, "", front.Limits{ReadTimeout: 10 * time.Minute, Session: time.Hour, WriteTimeout: time.Second}, func(*atomic.Int64, []byte) (int, error) {
		reads++
		return 0, os.ErrDeadlineExceeded
	})
	if reads != 1 {
		t.Errorf("%d reads, want 1", reads)
	}
}

func TestQuietConnectionGivesUpItsLargeBuffer(t *testing.T) {
	var rooms []int
	var large weak.Pointer[byte]
	timeouts := 0
	play(t, "", front.Limits{ReadTimeout: 10 * time.Second, Session: 2 * quiet, WriteTimeout: time.Second}, func(_ *atomic.Int64, p []byte) (int, error) {
		rooms = append(rooms, len(p))
		if len(rooms) < 10 {
			large = weak.Make(&p[0])
			return copy(p, strings.Repeat("ECHO a\r\n", len(p)/len("ECHO a\r\n"))), nil
		}
		if timeouts++; timeouts == 2 {
			if runtime.GC(); large.Value() != nil {
				t.Error("something keeps the large buffer")
			}
		}
		return 0, os.ErrDeadlineExceeded
	})
	if largest := rooms[9]; largest != maxCommand {
		t.Errorf("after nine full reads there is room for %d bytes, want %d", largest, maxCommand)
	}
	if last := rooms[len(rooms)-1]; timeouts != 2 || last != smallBuffer {
		t.Errorf("after %d timeouts there is room for %d bytes, want %d", timeouts, last, smallBuffer)
	}
}

// memoryOfInfo finds INFO up to its used memory, which changes with each reading, and so may the length before it.
var memoryOfInfo = regexp.MustCompile(`\$\d+\r\n(?s:# Server.*?)used_memory:\d+`)

// FuzzConnection holds a connection to one rule: its replies do not depend on where the network cuts
// the client's bytes.
func FuzzConnection(f *testing.F) {
	for _, seed := range []string{
		"INCR numbers\r\nINCR numbers\r\nINCR numbers\nPING\r\n", "HELLO 3\r\nID.NEXT numbers COUNT 5 RANGES\r\nCOMMAND DOCS\r\n",
		"*2\r\n$4\r\nINCR\r\n$7\r\nnumbers\r\n*2\r\n$4\r\nINCR\r\n$7\r\nnumbers\r\n*2\r\n$4\r\nINCR\r\n$5\r\ntexts\r\n", "INCR none\r\nINCR none\r\n",
		"ID.DECODE 1541815603606036480 LAYOUT twitter\r\nINFO\r\nCLIENT INFO\r\nQUIT\r\nPING\r\n", "*1\r\n$1073741824\r\n", "POST / HTTP/1.1\r\n",
		"MULTI\r\nINCR numbers\r\n*2\r\n$4\r\nECHO\r\n$16384\r\n" + strings.Repeat("*", maxCommand) + "\r\nEXEC\r\nINCR 'numbers'\r\nINCR \"numbers\"\r\nPING \"\r\n",
		"*70\r\n" + strings.Repeat("$0\r\n\r\n", 70) + "PING\r\n", "*65\r\n$1\r\nx\r\n+",
	} {
		f.Add([]byte(seed), uint16(len(seed)/2))
	}
	f.Fuzz(func(t *testing.T, data []byte, cut uint16) {
		at := min(int(cut), len(data))
		var whole, pieces string
		synctest.Test(t, func(t *testing.T) { // INFO has the time since the start
			whole, pieces = replies(t, data), replies(t, data[:at], data[at:])
		})
		if whole, pieces = memoryOfInfo.ReplaceAllString(whole, ""), memoryOfInfo.ReplaceAllString(pieces, ""); whole != pieces {
			t.Fatalf("whole: %q\ncut at %d: %q", whole, at, pieces)
		}
	})
}

// replies returns a new connection's answers to pieces.
func replies(t *testing.T, pieces ...[]byte) string {
	t.Helper()
	f := serviceFixture(t, "")
	s := &scripted{}
	c := f.bare(s)
	c.data = make([]byte, 0, smallBuffer)
	for _, p := range pieces {
		for len(p) > 0 {
			c.makeRoom()
			n := copy(c.data[len(c.data):cap(c.data)], p)
			c.data, p = c.data[:len(c.data)+n], p[n:]
			if !c.answer() {
				return s.written.String()
			}
		}
	}
	return s.written.String()
}
