package respfront

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/budget"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/internal/fronttest"
	"snowfence.example/snowfence/daemon/internal/listen"
	"snowfence.example/snowfence/daemon/internal/metrics"
	"snowfence.example/snowfence/daemon/internal/service"
	"snowfence.example/snowfence/daemon/internal/session"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/daemon/token"
)

// memory is the number of bytes that the clients of a fixture have together.
const memory = 64 << 20

// fixture is a front with the generators numbers, texts, and late, which is still starting.
type fixture struct {
	t       testing.TB
	numbers *fronttest.Numbers
	service *service.Service
	address string
	server  *Server
	memory  *budget.Budget
	ended   chan error
}

// newFixture serves on a loopback address until the test ends.
func newFixture(t testing.TB, tokens string, change ...func(*config.Config)) *fixture {
	t.Helper()
	f := serviceFixture(t, tokens, change...)
	f.serve()
	return f
}

// serve serves on a loopback address until the test ends.
func (f *fixture) serve() {
	t := f.t
	t.Helper()
	limits := f.server.config.Limits
	l, err := listen.Open(t.Context(), listen.Front{
		Address: "127.0.0.1:0", Room: listen.NewRoom(config.Limits{Connections: limits.Connections}, 0), Memory: f.memory, Behind: limits.WriteTimeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	f.address = l.Addr().String()
	go func() { f.ended <- f.server.Serve(l) }()
	t.Cleanup(func() {
		ended, end := context.WithCancel(context.Background())
		end()
		_ = f.server.Drain(ended)
		if err := <-f.ended; err != nil {
			t.Error(err)
		}
		_ = f.server.Drain(context.Background()) // until the connections that were cut off have ended
		if used := f.memory.Used(); used > 0 {
			t.Errorf("%d bytes are still taken", used)
		}
	})
}

// serviceFixture is a fixture that serves nothing yet.
func serviceFixture(t testing.TB, tokens string, change ...func(*config.Config)) *fixture {
	t.Helper()
	c := fronttest.Settings(t, append([]func(*config.Config){func(c *config.Config) {
		c.Generators = map[string]config.Generator{"numbers": {}, "texts": {}, "late": {}}
		c.Limits.Batch = 100
	}}, change...)...)
	f := &fixture{t: t, numbers: new(fronttest.Numbers), memory: budget.New(memory), ended: make(chan error, 1)}
	s := fronttest.Service(t, service.Config{Settings: c, Tokens: fronttest.Ring(t, tokens), Memory: f.memory},
		map[string]kind.Minter{"numbers": f.numbers, "texts": fronttest.Texts{}})
	clock := snowfence.SystemClock()
	f.service = s
	f.server = New(Config{Service: s, Meter: metrics.NewFront("resp", clock.Monotonic), Limits: s.Limits(), Memory: f.memory, Version: "test"})
	return f
}

// bare is a connection of a client that need not show a token. The test reads for it.
func (f *fixture) bare(n net.Conn) *conn {
	return &conn{
		Server: f.server, ctx: f.t.Context(), client: f.service.Client(netip.Addr{}), authorized: true, reply: reply{proto: 2},
		input: input{net: &session.Conn{Conn: n}, meter: f.server.config.Meter, limits: f.server.config.Limits},
	}
}

// link is a connection of a test.
type link struct {
	net.Conn
	t      testing.TB
	reader *bufio.Reader
}

func (f *fixture) dial() *link {
	f.t.Helper()
	return dial(f.t, f.address)
}

// dial connects to a server until the test ends.
func dial(t testing.TB, address string) *link {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &link{c, t, bufio.NewReader(c)}
}

// send sends commands together, each as words with blanks between them.
func (l *link) send(commands ...string) {
	l.t.Helper()
	var all []byte
	for _, c := range commands {
		all = append(all, encode(strings.Fields(c)...)...)
	}
	if _, err := l.Write(all); err != nil {
		l.t.Fatal(err)
	}
}

// reply reads one reply, in a short form of the tests: (1 2) is an array, {a b} a map.
func (l *link) reply() string {
	l.t.Helper()
	line, err := l.reader.ReadString('\n')
	if err != nil {
		return "closed"
	}
	line = strings.TrimSuffix(line, "\r\n")
	n, _ := strconv.Atoi(line[1:])
	several := func(n int, begin, end string) string {
		var all []string
		for range n {
			all = append(all, l.reply())
		}
		return begin + strings.Join(all, " ") + end
	}
	switch line[0] {
	case '$', '=':
		if n < 0 {
			return "nil"
		}
		text := make([]byte, n+2)
		if _, err := io.ReadFull(l.reader, text); err != nil {
			l.t.Fatal(err)
		}
		return fmt.Sprintf("%q", text[:n])
	case '*', '~':
		return several(n, "(", ")")
	case '%':
		return several(2*n, "{", "}")
	case '_':
		return "nil"
	}
	return line
}

// wants reads replies and compares them. Of one that ends with … the begin is known.
func (l *link) wants(replies ...string) {
	l.t.Helper()
	for i, want := range replies {
		got := l.reply()
		if begin, ok := strings.CutSuffix(want, "…"); got != want && !(ok && strings.HasPrefix(got, begin)) {
			l.t.Errorf("reply %d is %s, want %s", i, got, want)
		}
	}
}

// ask sends a command and reads its reply.
func (l *link) ask(command string) string {
	l.t.Helper()
	l.send(command)
	return l.reply()
}

func TestEachCommandHasItsReply(t *testing.T) {
	for _, c := range []struct{ command, reply string }{
		{"INCR numbers", ":1"},
		{"incr numbers", ":1"},
		{"INCRBY numbers 5", ":5"},
		{"INCRBY numbers 1", ":1"},
		{"INCRBY texts 1", "-ERR the ids of texts are no numbers: use ID.NEXT texts"},
		{"INCRBY numbers 0", `-ERR count-out-of-range: count is "0": must be a whole number from 1 to 100`},
		{"INCRBY numbers -1", "-ERR value is not an integer or out of range"},
		{"INCRBY texts 2", "-ERR not-consecutive: ids of this generator do not follow each other, so none can be reserved by one number: mint a count of them, as by ID.NEXT with COUNT"},
		{"ID.NEXT numbers", `"1"`},
		{"ID.NEXT numbers COUNT 3", `("1" "2" "3")`},
		{"id.next numbers count 1", `("1")`},
		{"ID.NEXT numbers COUNT 3 RANGES", `("1" "3")`},
		{"ID.NEXT numbers COUNT 101", `-ERR count-out-of-range: count is "101": must be a whole number from 1 to 100`},
		{"ID.NEXT numbers COUNT x", `-ERR count-out-of-range: count is "x": must be a whole number from 1 to 100`},
		{"ID.NEXT numbers RANGES", `("1" "1")`},
		{"id.next numbers ranges count 3", `("1" "3")`},
		{"ID.NEXT numbers COUNT", "-ERR syntax error, must be ID.NEXT key [COUNT n] [RANGES]"},
		{"ID.NEXT numbers RANGES 3", "-ERR syntax error, must be ID.NEXT key [COUNT n] [RANGES]"},
		{"ID.NEXT texts", `"T-1"`},
		{"ID.NEXT texts COUNT 2", `("T-1" "T-1")`},
		{"ID.NEXT texts COUNT 2 RANGES", "-ERR the ids of texts are no numbers: use ID.NEXT texts"},
		{"INCR texts", "-ERR the ids of texts are no numbers: use ID.NEXT texts"},
		{"INCR late", "-TRYAGAIN starting: the server has not opened the generator yet: it waits for a worker id or for its store; its log shows which; retry after 1s"},
		{"INCR none", `-ERR unknown-generator: generator is "none": must be one of late, numbers, texts`},
		{"GET numbers", "-ERR GET never mints an id, because its reply may be cached: use INCR numbers or ID.NEXT numbers"},
		{"MGET numbers", "-ERR unknown command 'MGET'"},
		{"INCR", "-ERR wrong number of arguments for 'incr' command"},
		{"INCR a b", "-ERR wrong number of arguments for 'incr' command"},
		{"ID.DECODE x", `-ERR invalid-id: id is "x": is neither decimal nor hex, nor base32 of 13 or base62 of 11 digits`},
		{"ID.DECODE 1 LAYOUT", "-ERR syntax error, must be ID.DECODE id [LAYOUT layout | GENERATOR key]"},
		{"PING", "+PONG"},
		{"PING hello", `"hello"`},
		{"ECHO hello", `"hello"`},
		{"SELECT 0", "+OK"},
		{"SELECT 1", "-ERR DB index is out of range"},
		{"AUTH x", "-ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"},
		{"HELLO", `("server" "redis" "version" "7.4.0" "proto" :2 "id" :1 "mode" "standalone" "role" "master" "modules" ())`},
		{"HELLO 3 SETNAME me", `{"server" "redis" "version" "7.4.0" "proto" :3 "id" :1 "mode" "standalone" "role" "master" "modules" ()}`},
		{"HELLO 4", "-NOPROTO unsupported protocol version"},
		{"HELLO 3 NAME", "-ERR Syntax error in HELLO option 'NAME'"},
		{"CLIENT GETNAME", "nil"},
		{"CLIENT SETNAME me", "+OK"},
		{"CLIENT ID", ":1"},
		{"CLIENT TRACKING ON OPTIN", "+OK"},
		{"CLIENT KILL x", "-ERR unknown command 'CLIENT|KILL'"},
		{"COMMAND COUNT", ":26"},
		{"COMMAND INFO incr none", `(("incr" :2 (+fast +write) :1 :1 :1 (+@generic) () () ()) nil)`},
		{"COMMAND DOCS id.next", `("id.next" ("summary" "Mints ids, as bulk strings or as ranges." "since" "1.0.0" "group" "generic" "arguments" (` +
			`("name" "key" "type" "key") ("name" "n" "type" "integer" "token" "COUNT" "flags" (+optional)) ("name" "ranges" "type" "pure-token" "token" "RANGES" "flags" (+optional)))))`},
		{"CONFIG GET save", `("save" "")`},
		{"CONFIG GET x", "()"},
		{"CONFIG SET save x", "-ERR unknown command 'CONFIG|SET'"},
		{"CLIENT ID x", "-ERR wrong number of arguments for 'client|id' command"},
		{"CLUSTER SLOTS", "-ERR This instance has cluster support disabled"},
		{"RESET", "+RESET"},
		{"QUIT", "+OK"},
	} {
		f := newFixture(t, "")
		if got := f.dial().ask(c.command); got != c.reply {
			t.Errorf("%s: %s, want %s", c.command, got, c.reply)
		}
	}
}

func TestEveryCommandOfTheTableIsAnsweredInBothProtocols(t *testing.T) {
	f := newFixture(t, "")
	for _, proto := range []string{"2", "3"} {
		l := f.dial()
		if got := l.ask("HELLO " + proto); !strings.Contains(got, `"proto" :`+proto) {
			t.Fatal(got)
		}
		for _, c := range commands() {
			if c.name == "QUIT" || c.name == "HELLO" || c.name == "RESET" {
				continue
			}
			if got := l.ask(c.name + strings.Repeat(" numbers", c.least)); got == "closed" || strings.Contains(got, "unknown command '"+c.name+"'") || strings.Contains(got, "wrong number of arguments for '"+strings.ToLower(c.name)) {
				t.Errorf("%s in RESP%s: %s", c.name, proto, got)
			}
		}
		if got := l.ask("COMMAND"); strings.Count(got, "+fast") != len(commands()) {
			t.Errorf("COMMAND: %s", got)
		}
		if got := l.ask("INFO"); !strings.Contains(got, `loading:0\r\n`) || !strings.Contains(got, `snowfence_version:test\r\n`) {
			t.Errorf("INFO: %s", got)
		}
	}
}

// TestInfoCountsClientsAndCommands: redis-cli --stat prints these fields.
func TestInfoCountsClientsAndCommands(t *testing.T) {
	f := serviceFixture(t, "")
	var now atomic.Int64
	now.Store(int64(time.Hour))
	f.server.config.Meter = metrics.NewFront("resp", func() time.Duration { return time.Duration(now.Load()) })
	f.server.up = time.Hour
	f.serve()
	gone := f.dial()
	gone.ask("QUIT")
	if got := gone.reply(); got != "closed" {
		t.Fatal(got)
	}
	for f.server.connected.Load() > 0 { // the connection is counted until its handler returns
		runtime.Gosched()
	}
	other, l := f.dial(), f.dial()
	other.ask("INCR numbers")
	l.send("PING", "PING")
	l.reply()
	l.reply()
	now.Add(int64(90 * time.Second))
	got := l.ask("INFO")
	for _, want := range []string{"connected_clients:2", "total_connections_received:3", "total_commands_processed:5", "uptime_in_seconds:90"} {
		if !strings.Contains(got, `\r\n`+want+`\r\n`) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
	var used int64
	if _, text, _ := strings.Cut(got, `used_memory:`); text != "" {
		_, _ = fmt.Sscan(strings.ReplaceAll(text, `\r`, " "), &used)
	}
	if used < 1<<20 || used > 1<<40 {
		t.Errorf("%d bytes are used: %s", used, got)
	}
}

func TestDecodeIsAMapOfWhatAnIDSays(t *testing.T) {
	f := newFixture(t, "")
	l := f.dial()
	l.ask("HELLO 3")
	got := l.ask("ID.DECODE 1541815603606036480 LAYOUT twitter")
	for _, want := range []string{`{"id" "1541815603606036480"`, `"time" "2022-06-28T16:07:40.105Z"`, `"datacenter" "11" "worker" "26" "sequence" "0"`, `"fields" ({`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
}

func TestPipelineIsAnsweredInOrderByFewCalls(t *testing.T) {
	f := newFixture(t, "")
	l := f.dial()
	var commands, want []string
	for i := range 150 {
		commands, want = append(commands, "INCR numbers"), append(want, ":"+strconv.Itoa(i+1))
	}
	commands, want = append(commands, "PING", "INCR numbers", "INCR texts", "INCR none", "ID.NEXT numbers"), append(want, "+PONG", ":151",
		"-ERR the ids of texts are no numbers: use ID.NEXT texts", `-ERR unknown-generator: generator is "none": must be one of late, numbers, texts`, `"152"`)
	l.send(commands...)
	l.wants(want...)
	// Two batches, and one for each of the two at the end; the network may cut the pipeline anywhere.
	if calls := f.numbers.Calls.Load(); calls > 20 {
		t.Errorf("%d calls", calls)
	}
}

func TestManyIDsAreWrittenAsTheyAre(t *testing.T) {
	f := newFixture(t, "", func(c *config.Config) { c.Limits.Batch = 20_000 })
	l := f.dial()
	var want []string
	for i := range 20_000 { // two pieces, and numbers of one digit to five
		want = append(want, strconv.Quote(strconv.Itoa(i+1)))
	}
	if got := l.ask("ID.NEXT numbers COUNT 20000"); got != "("+strings.Join(want, " ")+")" {
		t.Errorf("%.200s", got)
	}
	f.numbers.Gap = 1 // each number is 2 after the one before
	if got, want := l.ask("ID.NEXT numbers COUNT 3"), `("20002" "20004" "20006")`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := l.ask("ID.NEXT numbers COUNT 2 RANGES"), `("20008" "1" "20010" "1")`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestPipelineGetsWhatARateStillAllows(t *testing.T) {
	f := newFixture(t, "", func(c *config.Config) { c.Limits.Batch, c.Limits.AddressRate = 1, 3 })
	l := f.dial()
	l.send("INCR numbers", "INCR numbers", "INCR numbers", "INCR numbers", "INCR numbers")
	l.wants(":1", ":2", ":3", "-TRYAGAIN rate-limited: …", "-TRYAGAIN rate-limited: …")
}

func TestTokenIsShownBeforeAnythingElse(t *testing.T) {
	f := newFixture(t, "all "+token.HashOf("Correct-horse-battery").String()+"\nfew "+token.HashOf("of-one-generator").String()+" generators=texts")
	l := f.dial()
	for _, c := range []struct{ command, reply string }{
		{"INCR numbers", "-NOAUTH Authentication required."},
		{"PING", "-NOAUTH Authentication required."},
		{"NONE", "-NOAUTH Authentication required."},
		{"HELLO 3", "-NOAUTH HELLO must be called"},
		{"AUTH wrong", "-WRONGPASS invalid-token: "},
		{"HELLO 2 AUTH default wrong", "-WRONGPASS invalid-token: "},
		{"AUTH default of-one-generator", "+OK"},
		{"ID.NEXT texts", `"T-1"`},
		{"INCR numbers", `-NOPERM not-allowed: generator is "numbers": the token allows texts`},
		{"AUTH Correct-horse-battery", "+OK"},
		{"INCR numbers", ":1"},
		{"RESET", "+RESET"},
		{"INCR numbers", "-NOAUTH Authentication required."},
		{"HELLO 3 AUTH default Correct-horse-battery SETNAME me", `{"server" "redis"`},
		{"CLIENT GETNAME", `"me"`},
		{"INCR numbers", ":2"},
		{"AUTH wrong", "-WRONGPASS invalid-token: "},
		{"HELLO 3 AUTH default wrong", "-WRONGPASS invalid-token: "},
		{"INCR numbers", ":3"}, // by the token before
	} {
		if got := l.ask(c.command); !strings.HasPrefix(got, c.reply) {
			t.Errorf("%s: %s, want %s", c.command, got, c.reply)
		}
	}
}

func TestConnectionEndsAfterAFewWrongTokens(t *testing.T) {
	f := newFixture(t, "all "+token.HashOf("Correct-horse-battery").String())
	l := f.dial()
	l.send("AUTH wrong", "HELLO 3 AUTH default wrong", "RESET", "AUTH Correct-horse-battery", "AUTH wrong", "AUTH x wrong", "AUTH wrong", "AUTH Correct-horse-battery")
	const wrong = "-WRONGPASS invalid-token: the token is not known"
	l.wants(wrong, wrong, "+RESET", "+OK", wrong, wrong, wrong+"; the connection ends after 5 wrong tokens: connect again with the right one", "closed")
	if got := f.dial().ask("AUTH Correct-horse-battery"); got != "+OK" {
		t.Errorf("the next connection: %s", got)
	}
}

func TestNothingIsToldOfAGeneratorThatTheTokenDoesNotAllow(t *testing.T) {
	f := newFixture(t, "few "+token.HashOf("of-one-generator").String()+" generators=numbers,gone")
	l := f.dial()
	if got := l.ask("AUTH of-one-generator"); got != "+OK" {
		t.Fatal(got)
	}
	for _, command := range []string{
		"INCR %s", "INCRBY %s 1", "INCRBY %s 2", "INCRBY %s 0", "ID.NEXT %s", "ID.NEXT %s COUNT x", "ID.NEXT %s RANGES",
		"ID.NEXT %s COUNT 101", "ID.DECODE 1 GENERATOR %s",
	} {
		for _, name := range []string{"texts", "late", "none"} { // two of other tokens, and one that does not exist
			if got, want := l.ask(fmt.Sprintf(command, name)), fmt.Sprintf(`-NOPERM not-allowed: generator is "%s": the token allows numbers`, name); got != want {
				t.Errorf("%s: %s, want %s", command, got, want)
			}
		}
	}
	if got, want := l.ask("INCR gone"), `-ERR unknown-generator: generator is "gone": the token allows numbers`; got != want {
		t.Errorf("one that the token alone names: %s, want %s", got, want)
	}
}

func TestEveryProblemHasAPrefixForPrograms(t *testing.T) {
	prefixes := map[string]string{
		"unknown-generator": "ERR", "count-out-of-range": "ERR", "invalid-id": "ERR", "invalid-layout": "ERR", "invalid-token": "WRONGPASS",
		"not-allowed": "NOPERM", "rate-limited": "TRYAGAIN", "not-consecutive": "ERR", "not-a-series": "ERR", "needs-reservation": "ERR", "invalid-reservation": "ERR",
		"not-lent": "ERR", "invalid-lease": "ERR", "lease-gone": "ERR", "lease-moved": "ERR", "no-worker": "TRYAGAIN", "lease-limit": "TRYAGAIN",
		"reservation-ended": "ERR", "starting": "TRYAGAIN", "refused": "TRYAGAIN", "standby": "NOLEASE", "stopped": "TRYAGAIN", "lease-unavailable": "NOLEASE", "store-unavailable": "TRYAGAIN",
		"clock-unsafe": "CLOCK", "saturated": "TRYAGAIN", "overloaded": "TRYAGAIN", "request-cancelled": "TRYAGAIN", "horizon-passed": "ERR", "numbers-used-up": "ERR",
		"counter-changed": "ERR", "internal": "ERR",
	}
	n := 0
	for kind := front.Type(0); kind.String() != ""; kind++ {
		n++
		if got := prefixOf(kind, false); got != prefixes[kind.String()] {
			t.Errorf("%s: %q, want %q", kind, got, prefixes[kind.String()])
		}
	}
	if n != len(prefixes) {
		t.Errorf("%d types, %d prefixes", n, len(prefixes))
	}
	if got := prefixOf(front.InvalidToken, true); got != "NOAUTH" {
		t.Errorf("a token that was revoked: %s", got)
	}
}

func TestLineEndsOfAClientDoNotBreakAnError(t *testing.T) {
	f := newFixture(t, "")
	l := f.dial()
	if _, err := l.Write(append(encode("X\r\n:1\r\n"), encode("PING")...)); err != nil {
		t.Fatal(err)
	}
	l.wants("-ERR unknown command 'X  :1  '", "+PONG")
}

func TestNameOfAClientIsOneWordInASCII(t *testing.T) {
	f := newFixture(t, "")
	l := f.dial()
	for _, name := range []string{"a b", "a\nb", "\r", "a\x00", "\u00e9", "\x7f"} {
		for _, command := range [][]byte{encode("CLIENT", "SETNAME", name), encode("HELLO", "3", "SETNAME", name)} {
			if _, err := l.Write(command); err != nil {
				t.Fatal(err)
			}
			if got := l.reply(); got != "-ERR Client names cannot contain spaces, newlines or special characters." {
				t.Errorf("%q: %s", command, got)
			}
		}
	}
	if got := l.ask("CLIENT GETNAME"); got != "nil" {
		t.Errorf("its name is %s", got)
	}
	l.ask("CLIENT SETNAME a-b")
	if got := l.ask("CLIENT GETNAME"); got != `"a-b"` {
		t.Errorf("its name is %s", got)
	}
}

func TestConnectionThatBreaksTheProtocolEnds(t *testing.T) {
	f := newFixture(t, "")
	l := f.dial()
	if _, err := io.WriteString(l, "INCR numbers\r\n*1\r\n$1073741824\r\nINCR numbers\r\n"); err != nil {
		t.Fatal(err)
	}
	l.wants(":1", "-ERR Protocol error: invalid bulk length", "closed")
	web := f.dial()
	if _, err := io.WriteString(web, "POST / HTTP/1.1\r\nHost: x\r\n\r\nINCR numbers\r\n"); err != nil {
		t.Fatal(err)
	}
	web.wants("closed")
}

func TestClientThatSendsNothingOrHalfACommandIsCutOff(t *testing.T) {
	f := newFixture(t, "", func(c *config.Config) { c.Limits.ReadTimeout = 100 * time.Millisecond })
	silent, half := f.dial(), f.dial()
	if _, err := io.WriteString(half, "PING\r\n*1\r\n$4\r\nPI"); err != nil {
		t.Fatal(err)
	}
	half.wants("+PONG", "closed")
	silent.wants("closed")
}

func TestClientThatReadsNothingIsCutOff(t *testing.T) {
	f := newFixture(t, "", func(c *config.Config) { c.Limits.WriteTimeout = 100 * time.Millisecond })
	l := f.dial()
	ping := encode("ECHO", strings.Repeat("x", 8000))
	for {
		// The write fails once the server has closed the connection.
		if _, err := l.Write(ping); err != nil {
			return
		}
	}
}

func TestDrainEndsIdleConnectionsAtOnce(t *testing.T) {
	f := newFixture(t, "")
	l := f.dial()
	l.send("PING")
	l.wants("+PONG")
	if err := f.server.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	l.wants("closed")
}

func TestPipelineAllocatesNothing(t *testing.T) {
	f := newFixture(t, "")
	c := f.bare(nil)
	c.data = slices.Concat(encode("INCR", "numbers"), encode("INCR", "numbers"), encode("incr", "numbers"), encode("id.next", "numbers", "count", "100"), encode("COMMAND", "COUNT"))
	c.text, c.batch = make([]byte, 0, chunk), new(kind.Batch)
	allocations := testing.AllocsPerRun(1000, func() {
		c.next, c.text = 0, c.text[:0]
		for c.step() {
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations for a pipeline of five commands", allocations)
	}
}

// BenchmarkINCR answers pipelines of INCRs, without a network.
func BenchmarkINCR(b *testing.B) {
	for _, pipeline := range []int{1, 16} {
		b.Run(strconv.Itoa(pipeline), func(b *testing.B) {
			f := serviceFixture(b, "")
			c := f.bare(nowhere{})
			c.data = bytes.Repeat(encode("INCR", "numbers"), pipeline)
			b.ReportAllocs()
			for b.Loop() {
				if c.next = 0; !c.answer() {
					b.Fatal("the connection ended")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(pipeline), "ns/id")
		})
	}
}

// nowhere is a connection whose client takes every answer.
type nowhere struct{ net.Conn }

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
