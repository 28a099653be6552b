package client

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
)

// The two ways to ids are one to a program.
var (
	_ Source = (*Client)(nil)
	_ Source = (*fence.Holder)(nil)
)

// serve answers with what a function makes of the words of each command. An empty answer closes the
// connection.
func serve(t testing.TB, answer func(words []string) string) *testServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &testServer{address: l.Addr().String(), listener: l}
	go s.accept(answer)
	t.Cleanup(s.end)
	return s
}

// testServer answers commands of RESP on a port of its own.
type testServer struct {
	address  string
	listener net.Listener
	requests atomic.Int64

	mu    sync.Mutex
	conns []net.Conn
}

func (s *testServer) end() {
	_ = s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		_ = c.Close()
	}
}

func (s *testServer) accept(answer func([]string) string) {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns = append(s.conns, c)
		s.mu.Unlock()
		go s.talk(c, answer)
	}
}

func (s *testServer) talk(c net.Conn, answer func([]string) string) {
	defer func() { _ = c.Close() }()
	r := bufio.NewReader(c)
	for {
		var n int
		if _, err := fmt.Fscanf(r, "*%d\r\n", &n); err != nil {
			return
		}
		words := make([]string, n)
		for i := range words {
			var size int
			if _, err := fmt.Fscanf(r, "$%d\r\n", &size); err != nil {
				return
			}
			text := make([]byte, size+2)
			if _, err := io.ReadFull(r, text); err != nil {
				return
			}
			words[i] = string(text[:size])
		}
		s.requests.Add(1)
		reply := answer(words)
		if _, err := io.WriteString(c, reply); err != nil || reply == "" {
			return
		}
	}
}

// ranges writes runs as a server does: first, count, first, count.
func ranges(numbers ...int64) string {
	text := fmt.Sprintf("*%d\r\n", len(numbers))
	for _, n := range numbers {
		digits := strconv.FormatInt(n, 10)
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(digits), digits)
	}
	return text
}

// counting answers with 1, 2, 3 and so on from a counter, one run a request.
func counting(last *atomic.Int64) func([]string) string {
	return func(words []string) string {
		n, _ := strconv.ParseInt(words[3], 10, 64)
		return ranges(last.Add(n)-n+1, n)
	}
}

func newClient(t testing.TB, cfg Config) *Client {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestCallsThatWaitRideOnOneRequest(t *testing.T) {
	var last atomic.Int64
	first, release := make(chan struct{}), make(chan struct{})
	var sizes []string
	s := serve(t, func(words []string) string {
		sizes = append(sizes, words[3])
		if len(sizes) == 1 {
			close(first)
			<-release
		}
		return counting(&last)(words)
	})
	c := newClient(t, Config{Servers: []string{s.address}})
	var calls sync.WaitGroup
	ids := make([]snowfence.ID, 11)
	next := func(i int) {
		calls.Go(func() {
			var err error
			if ids[i], err = c.Next(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	next(0)
	<-first
	for i := 1; i < len(ids); i++ {
		next(i)
	}
	for waiting := 0; waiting < 10; runtime.Gosched() {
		c.mu.Lock()
		if len(c.queue) > 0 {
			waiting = c.queue[0].n
		}
		c.mu.Unlock()
	}
	close(release)
	calls.Wait()
	slices.Sort(ids)
	if !slices.Equal(sizes, []string{"1", "10"}) || ids[0] != 1 || ids[10] != 11 || len(slices.Compact(ids)) != 11 {
		t.Errorf("requests of %q ids, ids %v", sizes, ids)
	}
}

func TestLaterCallGetsAGreaterID(t *testing.T) {
	var last atomic.Int64
	s := serve(t, counting(&last))
	c := newClient(t, Config{Servers: []string{s.address}})
	var newest atomic.Int64 // of the calls that have returned
	var calls sync.WaitGroup
	for range 16 {
		calls.Go(func() {
			for range 500 {
				before := newest.Load()
				id, err := c.Next(t.Context())
				if err != nil || int64(id) <= before {
					t.Errorf("%d after %d, %v", id, before, err)
					return
				}
				for old := newest.Load(); old < int64(id) && !newest.CompareAndSwap(old, int64(id)); old = newest.Load() {
				}
			}
		})
	}
	calls.Wait()
}

func TestFillIsCutIntoRequestsOfABatch(t *testing.T) {
	var sizes []string
	s := serve(t, func(words []string) string {
		sizes = append(sizes, words[3])
		first := int64(100 * len(sizes))
		n, _ := strconv.ParseInt(words[3], 10, 64)
		if n == 1 {
			return ranges(first, 1)
		}
		return ranges(first, 1, first+10, n-1)
	})
	c := newClient(t, Config{Servers: []string{s.address}, Batch: 4})
	ids := make([]snowfence.ID, 9)
	if err := c.Fill(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	want := []snowfence.ID{100, 110, 111, 112, 200, 210, 211, 212, 300}
	if !slices.Equal(ids, want) || !slices.Equal(sizes, []string{"4", "4", "1"}) {
		t.Errorf("%v by requests of %q", ids, sizes)
	}
}

func TestCallThatLeavesDisturbsNoOther(t *testing.T) {
	var last atomic.Int64
	entered, release := make(chan struct{}, 2), make(chan struct{})
	s := serve(t, func(words []string) string {
		entered <- struct{}{}
		<-release
		return counting(&last)(words)
	})
	c := newClient(t, Config{Servers: []string{s.address}})
	ctx, cancel := context.WithCancelCause(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := c.Next(ctx)
		left <- err
	}()
	<-entered
	gone := errors.New("gone")
	cancel(gone)
	if err := <-left; !errors.Is(err, gone) {
		t.Errorf("the call that left: %v", err)
	}
	close(release)
	if id, err := c.Next(t.Context()); err != nil || id != 2 {
		t.Errorf("the next call got %d, %v", id, err)
	}
}

func TestServerThatFailsIsReplacedAndLeftAlone(t *testing.T) {
	var last atomic.Int64
	good := serve(t, counting(&last))
	for name, answer := range map[string]string{
		"closes":          "",
		"is starting":     "-TRYAGAIN starting: the server is still opening the generator; retry after 1s\r\n",
		"has no lease":    "-NOLEASE lease-unavailable\r\n",
		"has a bad clock": "-CLOCK clock-unsafe\r\n",
		"answers another": "$1\r\n1\r\n",
		"answers less":    ranges(5, 0),
		"answers more":    ranges(5, 2),
		"answers halves":  "*3\r\n$1\r\n5\r\n$1\r\n1\r\n$1\r\n6\r\n",
		"answers text":    "*2\r\n$1\r\nx\r\n$1\r\n1\r\n",
		"is no server":    "HTTP/1.1 400 Bad Request\r\n\r\n",
		"never ends":      strings.Repeat("x", 2*maxLine),
		"overflows":       ranges(9223372036854775807, 1, 9223372036854775807, 1),
	} {
		bad := serve(t, func([]string) string { return answer })
		c := newClient(t, Config{Servers: []string{bad.address, good.address}})
		for range 3 {
			if _, err := c.Next(t.Context()); err != nil {
				t.Errorf("a server that %s: %v", name, err)
			}
		}
		if n := bad.requests.Load(); n != 1 {
			t.Errorf("a server that %s was asked %d times", name, n)
		}
	}
}

func TestRequestThatIsRefusedForGoodFailsAtOnce(t *testing.T) {
	for answer, want := range map[string]snowfence.Class{
		"-ERR unknown-generator: generator is \"x\"\r\n": snowfence.ClassUsage,
		"-NOAUTH Authentication required.\r\n":           snowfence.ClassUsage,
		"-NOPERM not-allowed\r\n":                        snowfence.ClassUsage,
	} {
		s := serve(t, func([]string) string { return answer })
		c := newClient(t, Config{Servers: []string{s.address}})
		_, err := c.Next(t.Context())
		refused := new(ServerError)
		if !errors.As(err, &refused) || refused.Server != s.address || snowfence.ClassOf(err) != want || s.requests.Load() != 1 {
			t.Errorf("%q: %v, %d requests", answer, err, s.requests.Load())
		}
	}
}

func TestCallEndsWhenNoServerGivesIDsForMaxWait(t *testing.T) {
	s := serve(t, func([]string) string { return "-TRYAGAIN starting\r\n" })
	c := newClient(t, Config{Servers: []string{s.address}, MaxWait: 50 * time.Millisecond})
	_, err := c.Next(t.Context())
	refused := new(ServerError)
	if !errors.Is(err, ErrUnavailable) || !errors.As(err, &refused) || snowfence.ClassOf(err) != snowfence.ClassUnavailable {
		t.Errorf("%v", err)
	}
	if n := s.requests.Load(); n < 2 || n > 20 {
		t.Errorf("%d requests in 50 ms", n)
	}
}

func TestSilentServerIsLeftAfterTheTimeout(t *testing.T) {
	var last atomic.Int64
	silent, good := serve(t, func([]string) string { select {} }), serve(t, counting(&last))
	c := newClient(t, Config{Servers: []string{silent.address, good.address}, Timeout: 20 * time.Millisecond})
	if _, err := c.Next(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAnswerThatRepeatsOrGoesBackIsRefused(t *testing.T) {
	for _, c := range []struct {
		name    string
		strict  bool
		answers []string
		second  snowfence.ID
	}{
		{"a repeated id", false, []string{ranges(5, 1), ranges(5, 1), ranges(6, 1)}, 6},
		{"a lower id", false, []string{ranges(5, 1), ranges(4, 1)}, 4},
		{"a lower id, strictly", true, []string{ranges(5, 1), ranges(4, 1), ranges(5, 1), ranges(6, 1)}, 6},
	} {
		n := 0
		s := serve(t, func([]string) string { n++; return c.answers[n-1] })
		client := newClient(t, Config{Servers: []string{s.address}, Strict: c.strict})
		if id, err := client.Next(t.Context()); err != nil || id != 5 {
			t.Fatal(id, err)
		}
		if id, err := client.Next(t.Context()); err != nil || id != c.second || n != len(c.answers) {
			t.Errorf("%s: got %d after %d requests, %v", c.name, id, n, err)
		}
	}
	s := serve(t, func([]string) string { return ranges(5, 1) })
	c := newClient(t, Config{Servers: []string{s.address}, MaxWait: 20 * time.Millisecond})
	if _, err := c.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Next(t.Context()); !errors.Is(err, ErrBackwards) || !errors.Is(err, ErrUnavailable) {
		t.Errorf("only repeated ids: %v", err)
	}
}

func TestPrefetchedIDsAreGivenOutOnceAndInOrder(t *testing.T) {
	var last atomic.Int64
	s := serve(t, counting(&last))
	c := newClient(t, Config{Servers: []string{s.address}, Prefetch: 100})
	var calls sync.WaitGroup
	all := make([][]snowfence.ID, 8)
	for i := range all {
		calls.Go(func() {
			for range 2000 {
				id, err := c.Next(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				all[i] = append(all[i], id)
			}
		})
	}
	calls.Wait()
	var ids []snowfence.ID
	for _, own := range all {
		if !slices.IsSorted(own) {
			t.Error("the ids of one goroutine went back")
		}
		ids = append(ids, own...)
	}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != 16000 || s.requests.Load() > 170 {
		t.Errorf("%d different ids by %d requests", len(slices.Compact(ids)), s.requests.Load())
	}
}

func TestPrefetchedIDsAreThrownAwayAtTheirAge(t *testing.T) {
	var last atomic.Int64
	s := serve(t, counting(&last))
	c := newClient(t, Config{Servers: []string{s.address}, Prefetch: 100, MaxAge: 50 * time.Millisecond})
	if id, err := c.Next(t.Context()); err != nil || id != 1 {
		t.Fatal(id, err)
	}
	b := c.block.Load()
	for b.taken.Load() < gone {
		runtime.Gosched() // until the block's timer has withdrawn it
	}
	if id, err := c.Next(t.Context()); err != nil || id != 101 {
		t.Errorf("%d, %v: want one of the next block", id, err)
	}
}

func TestPrefetchGoesOnAfterAFailure(t *testing.T) {
	var last atomic.Int64
	fails := atomic.Bool{}
	s := serve(t, func(words []string) string {
		if fails.Load() {
			return "-TRYAGAIN\r\n"
		}
		return counting(&last)(words)
	})
	c := newClient(t, Config{Servers: []string{s.address}, Prefetch: 10, MaxWait: 20 * time.Millisecond})
	fails.Store(true)
	if _, err := c.Next(t.Context()); !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
	fails.Store(false)
	if id, err := c.Next(t.Context()); err != nil || id != 1 {
		t.Error(id, err)
	}
}

func TestCloseEndsCallsAndGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	silent := serve(t, func([]string) string { select {} })
	c, err := New(Config{Servers: []string{silent.address}})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := c.Next(t.Context())
		ended <- err
	}()
	for silent.requests.Load() == 0 {
		runtime.Gosched()
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Errorf("the call under way: %v", err)
	}
	if _, err := c.Next(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("a later call: %v", err)
	}
	if after := runtime.NumGoroutine(); after > before+3 { // of the server of the test
		t.Errorf("%d goroutines, then %d", before, after)
	}
}

func TestIdleClientHasNoGoroutine(t *testing.T) {
	var last atomic.Int64
	s := serve(t, counting(&last))
	c := newClient(t, Config{Servers: []string{s.address}})
	if _, err := c.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	for asking := true; asking; runtime.Gosched() {
		c.mu.Lock()
		asking = c.asking
		c.mu.Unlock()
	}
}

func TestTokenIsShownOnceAConnection(t *testing.T) {
	var last atomic.Int64
	var tokens atomic.Int64
	s := serve(t, func(words []string) string {
		if words[0] == "AUTH" {
			if tokens.Add(1); words[1] != "correct-horse-battery" {
				return "-WRONGPASS invalid-token\r\n"
			}
			return "+OK\r\n"
		}
		return counting(&last)(words)
	})
	c := newClient(t, Config{Servers: []string{s.address}, Token: "correct-horse-battery"})
	for range 3 {
		if _, err := c.Next(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if tokens.Load() != 1 {
		t.Errorf("%d tokens were shown", tokens.Load())
	}
	wrong := newClient(t, Config{Servers: []string{s.address}, Token: "wrong"})
	if _, err := wrong.Next(t.Context()); snowfence.ClassOf(err) != snowfence.ClassUsage {
		t.Errorf("a wrong token: %v", err)
	}
}

func TestServerWithoutTLSIsRefusedWhereItIsAskedFor(t *testing.T) {
	s := serve(t, func([]string) string { return "" })
	c := newClient(t, Config{Servers: []string{s.address}, TLS: &tls.Config{MinVersion: tls.VersionTLS12}, MaxWait: 20 * time.Millisecond})
	if _, err := c.Next(t.Context()); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v", err)
	}
}

func TestConfigThatCanNotBeUsedNamesItsField(t *testing.T) {
	ok := []string{"127.0.0.1:7601"}
	for field, c := range map[string]Config{
		"Servers":  {Servers: []string{"127.0.0.1"}},
		"Timeout":  {Servers: ok, Timeout: -1},
		"MaxWait":  {Servers: ok, MaxWait: -1},
		"MaxAge":   {Servers: ok, MaxAge: -1},
		"Batch":    {Servers: ok, Batch: maxBatch + 1},
		"Prefetch": {Servers: ok, Prefetch: 1001},
	} {
		_, err := New(c)
		wrong := new(ConfigError)
		if !errors.As(err, &wrong) || wrong.Field != field || snowfence.ClassOf(err) != snowfence.ClassUsage {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := New(Config{}); err == nil {
		t.Error("a client without servers was made")
	}
	if _, err := New(Config{Servers: ok, Prefetch: 1, Strict: true}); err == nil {
		t.Error("a strict client that fetches ahead was made")
	}
}

func TestPausesGrowAndEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServers(Config{Servers: []string{"a", "b"}, Clock: snowfence.SystemClock(), Random: func() float64 { return 1 }})
		began := s.config.Clock.Monotonic()
		for _, want := range []time.Duration{10, 20, 40, 80, 160, 320, 640, 1000, 1000} {
			s.failed(s.all[0])
			if got := s.all[0].until - s.config.Clock.Monotonic(); got != want*time.Millisecond {
				t.Errorf("a pause of %s, want %d ms", got, want)
			}
		}
		if to, pause := s.choose(began); to != s.all[1] || pause != 0 {
			t.Errorf("chose %v after %s", to, pause)
		}
		s.failed(s.all[1])
		if to, pause := s.choose(began); to != nil || pause != 10*time.Millisecond {
			t.Errorf("chose %v after %s", to, pause)
		}
	})
}

// FuzzAnswer holds the reader of answers to what it promises: as many ids as were asked for, in
// increasing order, whatever a server sends.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{ranges(1, 5), ranges(1, 2, 7, 3), "-ERR x\r\n", "*2\r\n$1\r\n1\r\n$1\r\n9\r\n", "*4000000000\r\n", "$-1\r\n", ranges(9223372036854775807, 5)} {
		f.Add([]byte(seed), 5)
	}
	f.Fuzz(func(t *testing.T, answer []byte, n int) {
		if n < 1 || n > maxBatch {
			return
		}
		l := &link{reader: bufio.NewReaderSize(strings.NewReader(string(answer)), maxLine)}
		runs, err := l.read(n)
		if err != nil {
			return
		}
		ids := 0
		for i, r := range runs {
			if r.count < 1 || r.first < 0 || r.last() < r.first || i > 0 && r.first <= runs[i-1].last() {
				t.Fatalf("run %d of %v", i, runs)
			}
			ids += r.count
		}
		if ids != n {
			t.Fatalf("%d ids for %d", ids, n)
		}
	})
}
