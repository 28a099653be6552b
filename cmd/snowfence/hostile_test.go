//go:build servers

package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"snowfence.example/snowfence/internal/testkit"
)

var (
	hostileConnections = flag.Int("hostile.connections", 20, "connections of each attack of the hostile test")
	hostileIdle        = flag.Int("hostile.idle", 500, "idle and half-open connections beside all attacks")
	hostileFor         = flag.Duration("hostile.for", 150*time.Millisecond, "how long each part of the hostile test lasts")
)

const (
	// hostileMemory is the most memory that a daemon may have, whatever its clients do.
	hostileMemory = 512 << 20

	// crowd is how many connections ask for 10,000 ids each, again and again.
	crowd = 200

	// preface begins a connection of HTTP/2 that has no settings.
	preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"

	// hostileP99 is the longest time of a single id beside that crowd.
	hostileP99 = 100 * time.Millisecond
)

// hostile is one client's attack on a connection, repeated until it can't go on.
type hostile struct {
	name, scheme string
	attack       func(net.Conn) error
}

// send16k sends the beginning of a request and 16 KB of it, and waits.
func send16k(begin string) func(net.Conn) error {
	return func(c net.Conn) error {
		if err := send(c, begin+strings.Repeat("x", 15_900-len(begin))); err != nil {
			return err
		}
		_, err := io.Copy(io.Discard, c)
		return err
	}
}

// hostiles lists the known attacks on servers.
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
		{"pages of a client that reads nothing", "http", repeat("GET /?years=" + strings.Repeat(`"`, 15_000) + " HTTP/1.1\r\nHost: localhost\r\n\r\n")},
		{"metrics of a client that reads nothing", "http", repeat("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")},
		{"a frame of 2 GB", "thrift", after(frame(0x7fffffff, ""), many)},
		{"a frame of THeader of 1 GB", "thrift", after(frame(0x3fffffff, "\x0f\xff\x00\x00\x00\x00\x00\x01\x3f\xff"), many)},
		{"a string of 2 GB", "thrift", after("\x80\x01\x00\x01\x7f\xff\xff\xff", many)},
		{"a call whose struct has no end", "thrift", after("\x80\x01\x00\x01\x00\x00\x00\x06get_id\x00\x00\x00\x01", "\x0c\x00\x01\x0c\x00\x01\x0c\x00\x01")},
		{"frames without end", "grpc", after(preface, "\x00\x40\x00\x00\x00\x00\x00\x00\x01"+strings.Repeat("x", 16<<10))},
		{"pings without end", "grpc", after(preface, "\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678")},
		{"unfinished commands of 16 KB", "redis", send16k("*2\r\n$4\r\nECHO\r\n$16000\r\n")},
		{"a transaction without end", "redis", after("MULTI\r\n", "*2\r\n$4\r\nECHO\r\n$8000\r\n"+strings.Repeat("x", 8000)+"\r\n")},
		{"unfinished headers of 16 KB", "http", send16k("GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ")},
		{"a body where none is taken", "http", send16k("GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 65400\r\n\r\n")},
		{"answers of 250 calls that are not read", "grpc", streams{path: next, body: nextRequest, whole: true}.attack},
		{"bodies of 250 calls that do not end", "grpc", streams{path: next, body: half}.attack},
		{"metadata of 250 calls whose message does not come", "grpc", streams{path: next, header: 15 << 10}.attack},
		{"bodies of 250 requests where none is taken", "https2", streams{path: "/livez", body: half}.attack},
		{"bodies of 250 requests that do not end", "https2", streams{method: "POST", path: "/v1/generators/default/ids", body: "{", header: 15 << 10}.attack},
		{"answers of 250 requests that are not read", "https2", streams{method: "POST", path: "/v1/generators/default/ids?count=10000", whole: true}.attack},
		{"requests of HTTP/2 of a client that reads nothing", "https2", streams{path: "/livez", whole: true, deaf: true}.attack},
		{"headers that go on without end", "grpc", after(preface+"\x00\x00\x00\x01\x00\x00\x00\x00\x01", "\x00\x40\x00\x09\x00\x00\x00\x00\x01"+strings.Repeat("\x00", 16<<10))},
	}
}

// victims are a daemon without TLS, and one with.
type victims struct{ plain, secure *testkit.Daemon }

func startVictims(t *testing.T, arguments ...string) victims {
	t.Helper()
	certificate, key := testkit.NewAuthority(t).Issue(t, "server", "127.0.0.1")
	start := func(environ ...string) *testkit.Daemon {
		d := testkit.StartDaemon(t, executable(t, ""), environ, append([]string{"--data", t.TempDir()}, arguments...)...)
		d.WaitReady()
		return d
	}
	return victims{start(), start("SNOWFENCE_TLS_CERTIFICATE="+certificate, "SNOWFENCE_TLS_KEY="+key)}
}

// attack runs an attack by many connections until the context ends, and returns how many were made.
func (d victims) attack(ctx context.Context, t *testing.T, h hostile, connections int) int64 {
	t.Helper()
	var made atomic.Int64
	var attackers sync.WaitGroup
	for range connections {
		attackers.Go(func() {
			for ; ctx.Err() == nil; made.Add(1) {
				switch h.scheme {
				case "https2":
					attackOnce(ctx, d.secure.Address("https"), overTLS(ctx, h.attack))
				case "https", "grpcs":
					attackOnce(ctx, d.secure.Address(h.scheme), h.attack)
				case "rediss": // a handshake where none is expected
					attackOnce(ctx, d.plain.Address("redis"), h.attack)
				default:
					attackOnce(ctx, d.plain.Address(h.scheme), h.attack)
				}
			}
		})
	}
	attackers.Wait()
	return made.Load()
}

// check fails the test if a daemon has ended, or had too much memory. It returns how much they had.
func (d victims) check(t *testing.T) (said string) {
	t.Helper()
	var had [2]int64
	for i, d := range []*testkit.Daemon{d.plain, d.secure} {
		select {
		case <-d.Ended():
			t.Fatalf("the daemon ended:\n%s", d.Log())
		default:
		}
		if had[i] = peakMemory(t, d); had[i] > hostileMemory {
			t.Errorf("a daemon had %d MiB, more than %d", had[i]>>20, hostileMemory>>20)
		}
	}
	return fmt.Sprintf("%d MiB, with TLS %d MiB", had[0]>>20, had[1]>>20)
}

// TestHostileClientsCostLittleMemory runs each attack by itself on daemons that give ids all the time. "make hostile" has
// new daemons for each, and so its figure.
func TestHostileClientsCostLittleMemory(t *testing.T) {
	d := startVictims(t)
	for _, h := range hostiles() {
		t.Run(h.name, func(t *testing.T) {
			d := d
			if *hostileConnections >= 100 {
				d = startVictims(t)
			}
			ctx, stop := context.WithTimeout(t.Context(), *hostileFor)
			defer stop()
			var others sync.WaitGroup
			others.Go(func() { measure(t, d.plain, *hostileFor) }) // which fails the test if an id is refused
			made := d.attack(ctx, t, h, *hostileConnections)
			others.Wait()
			t.Logf("%d connections, again and again %d: %s", *hostileConnections, made, d.check(t))
		})
	}
}

// TestHostileClientsOfAllKindsCostLittleMemory runs all attacks at once, beside idle connections.
func TestHostileClientsOfAllKindsCostLittleMemory(t *testing.T) {
	startVictims(t).bear(t, max(1, *hostileConnections/10), hostiles()...)
}

// TestHostileCrowdDelaysNoSingleID has a crowd ask for the most ids of a request, beside idle
// connections, and looks at the delay of others that ask for one.
func TestHostileCrowdDelaysNoSingleID(t *testing.T) {
	d := startVictims(t)
	var answered atomic.Int64
	many := hostile{"10,000 ids", "redis", func(c net.Conn) error {
		r := bufio.NewReader(c)
		for {
			if err := send(c, "ID.NEXT default COUNT 10000\r\n"); err != nil {
				return err
			}
			for range 1 + 2*10_000 { // lines
				if line, err := r.ReadSlice('\n'); err != nil || line[0] == '-' {
					return err
				}
			}
			answered.Add(1)
		}
	}}
	under := d.bear(t, crowd, many)
	t.Logf("the crowd has %d answers of 10,000 ids", answered.Load())
	for i, front := range []string{"RESP", "HTTP"} {
		if *hostileIdle >= 9000 && under[i] > hostileP99 { // a figure: for "make hostile", on a machine that does nothing else
			t.Errorf("p99 of other clients of %s is %s, more than %s", front, under[i], hostileP99)
		}
	}
}

// bear runs attacks beside idle connections, and returns the 99th percentile of other clients' times meanwhile.
func (d victims) bear(t *testing.T, connections int, attacks ...hostile) (under [2]time.Duration) {
	t.Helper()
	idle, end := context.WithCancel(t.Context())
	defer end()
	var clients sync.WaitGroup
	open := keepIdle(idle, t, &clients, d.plain, *hostileIdle)
	calm := measure(t, d.plain, *hostileFor)
	ctx, stop := context.WithTimeout(t.Context(), *hostileFor)
	defer stop()
	for _, h := range attacks {
		clients.Go(func() { d.attack(ctx, t, h, connections) })
	}
	under = measure(t, d.plain, *hostileFor)
	t.Logf("%d of %d connections are idle or half-open; p99 of others by RESP and HTTP: %s, then %s", open.Load(), *hostileIdle, calm, under)
	end()
	clients.Wait()
	t.Log(d.check(t))
	return under
}

// TestHostileConnectionsLeaveDescriptors opens more connections than the process may have files.
func TestHostileConnectionsLeaveDescriptors(t *testing.T) {
	script := "#!/bin/sh\nulimit -n 600\nexec " + executable(t, "") + " \"$@\"\n"
	program := written(t, script)
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	d := testkit.StartDaemon(t, program, nil, "--data", t.TempDir(), "--config", written(t, "generators: {default: {window: 1s}}"))
	d.WaitReady()
	if log := d.Log(); !strings.Contains(log, "too few files") {
		t.Errorf("the daemon does not report that it may have 600 files: %s", log)
	}
	request := askers(t, d)[0]
	for range 1200 {
		c, err := net.Dial("tcp", d.Address("redis"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = send(c, "PING\r\n") // it may be closed already
	}
	// Longer than the window, so that the store is needed for ids to go on.
	for began := time.Now(); time.Since(began) < 3*time.Second/2; {
		if err := request(); err != nil {
			t.Fatal(err)
		}
	}
	if log := d.Log(); strings.Contains(log, "too many open files") {
		t.Error(log)
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

// keepIdle keeps connections, and opens each again when the server has closed it. Most are idle after a request, two
// thirds of them of RESP: more of the other fronts have no room in the memory for connections. One in ten sends the
// beginning of a request and nothing more. It returns once all are open.
func keepIdle(ctx context.Context, t *testing.T, clients *sync.WaitGroup, d *testkit.Daemon, connections int) (open *atomic.Int64) {
	t.Helper()
	type front struct{ scheme, begin string }
	resp, web := front{"redis", "PING\r\n"}, front{"http", "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"}
	idle := []front{resp, web, resp, resp, {"grpc", preface}, resp, resp, web, resp}
	halfOpen := []front{{"redis", "*2\r\n$4\r\nIN"}, {"http", "GET /v1/gen"}, {"grpc", "PRI * HTTP"}, {"thrift", "\x00\x00"}}
	open = new(atomic.Int64)
	for i := range connections {
		f := idle[i%len(idle)]
		if i%10 == 0 {
			f = halfOpen[i/10%len(halfOpen)]
		}
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
	testkit.Eventually(t, func(context.Context) error {
		if n := open.Load(); n < int64(connections) {
			return fmt.Errorf("only %d connections are open", n)
		}
		return nil
	})
	return open
}

// measure returns the 99th percentile of one request's time by RESP and by HTTP.
func measure(t *testing.T, d *testkit.Daemon, lasts time.Duration) [2]time.Duration {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), lasts)
	defer stop()
	var took [2][]time.Duration
	var clients sync.WaitGroup
	for i, request := range askers(t, d) {
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

// askers ask for an id by RESP and by HTTP, on one connection each.
func askers(t *testing.T, d *testkit.Daemon) [2]func() error {
	t.Helper()
	resp, web := redis.NewClient(&redis.Options{Addr: d.Address("redis"), PoolSize: 1, MaxRetries: -1, ReadTimeout: 30 * time.Second}), testkit.Client()
	t.Cleanup(func() { _ = resp.Close() })
	if err := resp.Ping(t.Context()).Err(); err != nil { // it connects before others take the room
		t.Fatal(err)
	}
	return [2]func() error{
		func() error { return resp.Incr(t.Context(), "default").Err() },
		func() error {
			_, err := testkit.Mint(t.Context(), web, d.URL, "default", 1, nil)
			return err
		},
	}
}

func send(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

// peakMemory returns the most memory that the daemon ever had.
func peakMemory(t *testing.T, d *testkit.Daemon) int64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(d.PID()), "status"))
	if err != nil {
		t.Fatal(err)
	}
	var kilobytes int64
	_, peak, _ := strings.Cut(string(text), "VmHWM:")
	if _, err := fmt.Sscan(peak, &kilobytes); err != nil {
		t.Fatalf("the system does not show how much memory a process had: %v", err)
	}
	return kilobytes << 10
}
