package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
)

var (
	hostileConnections = flag.Int("hostile.connections", 1000, "half-open connections of the hostile test")
	hostileFor         = flag.Duration("hostile.for", 3*time.Second, "how long the hostile test lasts")
)

// What hostile clients may cost: the memory of the daemon, and the time of other clients' requests.
const (
	hostileMemory = 512 << 20
	hostileP99    = time.Second // beside attackers that take all the processors they get
)

// hostile is what one client does to a connection again and again, until it can do no more.
type hostile struct {
	name, scheme string
	attack       func(net.Conn) error
}

// hostiles lists what is known to bring servers down.
func hostiles() []hostile {
	many := strings.Repeat("x", 64<<10)
	repeat := func(text string) func(net.Conn) error {
		return func(c net.Conn) error {
			for {
				if _, err := io.WriteString(c, text); err != nil {
					return err
				}
			}
		}
	}
	after := func(first, then string) func(net.Conn) error {
		return func(c net.Conn) error {
			if _, err := io.WriteString(c, first); err != nil {
				return err
			}
			return repeat(then)(c)
		}
	}
	frame := func(size uint32, rest string) string {
		return string(binary.BigEndian.AppendUint32(nil, size)) + rest
	}
	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	return []hostile{
		{"a bulk string of 1 GB", "redis", after("*2\r\n$4\r\nECHO\r\n$1073741824\r\n", many)},
		{"an array of a billion parts", "redis", after("*1000000000\r\n", "$1\r\nx\r\n")},
		{"a line without end", "redis", repeat(many)},
		{"a client that reads nothing", "redis", repeat("*2\r\n$4\r\nECHO\r\n$8000\r\n" + strings.Repeat("x", 8000) + "\r\n")},
		{"many ids for a client that reads nothing", "redis", repeat("*4\r\n$7\r\nID.NEXT\r\n$7\r\ndefault\r\n$5\r\nCOUNT\r\n$5\r\n10000\r\n")},
		{"a handshake without end", "rediss", after("\x16\x03\x01\x40\x00\x01\x00\xff\xfc\x03\x03", many)},
		{"no handshake", "https", repeat("GET / HTTP/1.1\r\n")},
		{"alerts", "grpcs", repeat("\x15\x03\x03\x00\x02\x01\x00")},
		{"TLS where there is none", "redis", repeat("\x16\x03\x01\x40\x00\x01\x00\x3f\xfc\x03\x03" + many)},
		{"a header without end", "http", after("GET / HTTP/1.1\r\nHost: localhost\r\nX: ", many)},
		{"headers without end", "http", after("GET / HTTP/1.1\r\nHost: localhost\r\n", "A: b\r\n")},
		{"a body without end", "http", after("POST /v1/generators/default/ids HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1073741824\r\n\r\n", many)},
		{"requests of a client that reads nothing", "http", repeat("GET /v1/generators/default/ids?count=4000 HTTP/1.1\r\nHost: localhost\r\n\r\n")},
		{"a frame of 2 GB", "thrift", after(frame(0x7fffffff, ""), many)},
		{"a frame of THeader of 1 GB", "thrift", after(frame(0x3fffffff, "\x0f\xff\x00\x00\x00\x00\x00\x01\x3f\xff"), many)},
		{"a string of 2 GB", "thrift", after("\x80\x01\x00\x01\x7f\xff\xff\xff", many)},
		{"a call whose struct has no end", "thrift", after("\x80\x01\x00\x01\x00\x00\x00\x06get_id\x00\x00\x00\x01", "\x0c\x00\x01\x0c\x00\x01\x0c\x00\x01")},
		{"frames without end", "grpc", after(preface, "\x00\x40\x00\x00\x00\x00\x00\x00\x01"+strings.Repeat("x", 16<<10))},
		{"pings without end", "grpc", after(preface, "\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678")},
		{"headers that go on without end", "grpc", after(preface+"\x00\x00\x00\x01\x00\x00\x00\x00\x01", "\x00\x40\x00\x09\x00\x00\x00\x00\x01"+strings.Repeat("\x00", 16<<10))},
	}
}

// TestHostileClientsCostLittleMemoryAndTime runs all that hostile clients are known to do at once,
// beside half-open connections, and looks at what the others notice.
func TestHostileClientsCostLittleMemoryAndTime(t *testing.T) {
	program := testkit.Build(t, programPath, "")
	d := testkit.StartDaemon(t, program, nil, "--data", t.TempDir())
	d.WaitReady(30 * time.Second)
	certificate, key := testkit.NewAuthority(t).Issue(t, "server", "127.0.0.1")
	secure := testkit.StartDaemon(t, program, []string{"SNOWFENCE_TLS_CERTIFICATE=" + certificate, "SNOWFENCE_TLS_KEY=" + key}, "--data", t.TempDir())
	secure.WaitReady(30 * time.Second)
	calm := measure(t, d, time.Second)
	var attackers sync.WaitGroup
	idle, end := context.WithCancel(t.Context())
	defer end()
	open := halfOpen(idle, t, &attackers, d)
	ctx, stop := context.WithTimeout(t.Context(), *hostileFor)
	defer stop()
	for _, h := range hostiles() {
		attackers.Go(func() {
			tries := 0
			for ; ctx.Err() == nil; tries++ {
				of := d
				if strings.HasSuffix(h.scheme, "s") && h.scheme != "redis" {
					of = secure
				}
				attackOnce(ctx, of.Address(h.scheme), h.attack)
			}
			t.Logf("%s: %d connections", h.name, tries)
		})
	}
	under := measure(t, d, *hostileFor)
	t.Logf("%d connections are half-open", open.Load())
	end()
	attackers.Wait()
	peak := max(peakMemory(t, d), peakMemory(t, secure))
	t.Logf("p99 of others: RESP %s, then %s; HTTP %s, then %s; a daemon had %d MiB at the most", calm[0], under[0], calm[1], under[1], peak>>20)
	if peak > hostileMemory {
		t.Errorf("the daemon had %d MiB, more than %d", peak>>20, hostileMemory>>20)
	}
	for i, front := range []string{"RESP", "HTTP"} {
		if under[i] > hostileP99 {
			t.Errorf("p99 of other clients of %s is %s, more than %s", front, under[i], hostileP99)
		}
	}
	for _, d := range []*testkit.Daemon{d, secure} {
		select {
		case <-d.Ended():
			t.Errorf("the daemon ended:\n%s", d.Log())
		default:
		}
	}
}

// attackOnce connects and attacks until the connection ends, or the context does.
func attackOnce(ctx context.Context, address string, attack func(net.Conn) error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	defer func() { _ = c.Close() }()
	_ = attack(c) // it ends with the connection
}

// halfOpen keeps connections to every front that send the beginning of a request and nothing more, and
// opens each again when the server has closed it. It returns once all are open.
func halfOpen(ctx context.Context, t *testing.T, clients *sync.WaitGroup, d *testkit.Daemon) (open *atomic.Int64) {
	t.Helper()
	fronts := []struct{ scheme, begin string }{{"redis", "*2\r\n$4\r\nIN"}, {"http", "GET /v1/gen"}, {"grpc", "PRI * HTTP"}, {"thrift", "\x00\x00"}}
	open = new(atomic.Int64)
	for i := range *hostileConnections {
		f := fronts[i%len(fronts)]
		clients.Go(func() {
			for ctx.Err() == nil {
				attackOnce(ctx, d.Address(f.scheme), func(c net.Conn) error {
					open.Add(1)
					defer open.Add(-1)
					if err := send(c, f.begin); err != nil {
						return err
					}
					_, err := io.Copy(io.Discard, c)
					return err
				})
			}
		})
	}
	testkit.Eventually(t, time.Minute, func(context.Context) error {
		if n := open.Load(); n < int64(*hostileConnections) {
			return fmt.Errorf("only %d connections are open", n)
		}
		return nil
	})
	return open
}

// measure returns the 99th percentile of what one request takes by RESP and by HTTP.
func measure(t *testing.T, d *testkit.Daemon, lasts time.Duration) [2]time.Duration {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), lasts)
	defer stop()
	var took [2][]time.Duration
	var clients sync.WaitGroup
	for i, request := range []func() error{redisRequest(t, d), httpRequest(t, d)} {
		clients.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				if err := request(); err != nil {
					t.Errorf("another client: %v", err)
					return
				}
				took[i] = append(took[i], time.Since(began))
				pause(ctx, time.Millisecond)
			}
		})
	}
	clients.Wait()
	var p99 [2]time.Duration
	for i, all := range took {
		slices.Sort(all)
		if len(all) > 0 {
			p99[i] = all[len(all)*99/100]
		}
	}
	return p99
}

// redisRequest returns what asks for an id by RESP on one connection.
func redisRequest(t *testing.T, d *testkit.Daemon) func() error {
	t.Helper()
	c, err := net.Dial("tcp", d.Address("redis"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	r := bufio.NewReader(c)
	return func() error {
		if err := errors.Join(c.SetDeadline(time.Now().Add(30*time.Second)), send(c, "INCR default\r\n")); err != nil {
			return err
		}
		line, err := r.ReadString('\n')
		if err == nil && !strings.HasPrefix(line, ":") {
			err = fmt.Errorf("answered %q", line)
		}
		return err
	}
}

func send(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

// httpRequest returns what asks for an id by HTTP on one connection.
func httpRequest(t *testing.T, d *testkit.Daemon) func() error {
	t.Helper()
	client := testkit.Client()
	return func() error {
		answer, err := client.Post(d.URL+"/v1/generators/default/ids", "", http.NoBody)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, answer.Body)
		if answer.StatusCode != http.StatusOK {
			err = errors.Join(err, fmt.Errorf("answered %s", answer.Status))
		}
		return errors.Join(err, answer.Body.Close())
	}
}

// peakMemory returns the most memory that the daemon ever had.
func peakMemory(t *testing.T, d *testkit.Daemon) int64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(d.PID()), "status"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("the system does not say how much memory a process had")
	return 0
}
