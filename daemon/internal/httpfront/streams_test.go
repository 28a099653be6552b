package httpfront

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"snowfence.example/snowfence/daemon/internal/budget"
	"snowfence.example/snowfence/daemon/internal/fronttest"
)

// unread is a client of HTTP/2 that leaves an answer's body unread until it opens its window.
type unread struct {
	t      *testing.T
	framer *http2.Framer
	fields *hpack.Decoder
	stream uint32 // of the last request
}

func dialUnread(t *testing.T, f fixture) (*unread, net.Conn) {
	t.Helper()
	server := httptest.NewUnstartedServer(f)
	server.Config = &NewServer(f, fronttest.Limits(t), slog.New(slog.DiscardHandler)).http
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	secure := server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	secure.NextProtos = []string{"h2"}
	c, err := tls.Dial("tcp", server.Listener.Addr().String(), secure)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	u := &unread{t: t, framer: http2.NewFramer(c, c), fields: hpack.NewDecoder(4096, nil)}
	_, err = io.WriteString(c, http2.ClientPreface)
	if err = errors.Join(err, u.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize})); err != nil {
		t.Fatal(err)
	}
	return u, c
}

// ask sends a request with a header of so many bytes, and returns the status of its answer.
func (u *unread) ask(header int) int {
	u.t.Helper()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, f := range [][2]string{
		{":method", "POST"}, {":scheme", "https"}, {":path", "/v1/generators/default/ids"}, {":authority", "localhost"}, {"long", strings.Repeat("x", header)},
	} {
		if err := encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
			u.t.Fatal(err)
		}
	}
	u.stream = (u.stream + 1) | 1 // odd
	if err := u.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: u.stream, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: true}); err != nil {
		u.t.Fatal(err)
	}
	for {
		frame, err := u.framer.ReadFrame()
		if err != nil {
			u.t.Fatal(err)
		}
		head, ok := frame.(*http2.HeadersFrame)
		if !ok || head.StreamID != u.stream {
			continue
		}
		fields, err := u.fields.DecodeFull(head.HeaderBlockFragment())
		if err != nil || len(fields) == 0 {
			u.t.Fatalf("%v: %v", fields, err)
		}
		status, err := strconv.Atoi(fields[0].Value)
		if err != nil {
			u.t.Fatal(err)
		}
		return status
	}
}

func TestRequestsOfHTTP2TakeFromTheMemoryUntilTheirAnswersAreRead(t *testing.T) {
	f := newFixture(t, "")
	f.Handler.Memory = budget.New(4 * perStream)
	client, c := dialUnread(t, f)
	for i, want := range []int{200, 200, 200, 503} {
		if got := client.ask(10); got != want {
			t.Errorf("request %d: %d, want %d", i, got, want)
		}
	}
	if err := client.framer.WriteWindowUpdate(1, 1<<16); err != nil {
		t.Fatal(err)
	}
	for f.Handler.Memory.Used() > 3*perStream {
		runtime.Gosched()
	}
	if got := client.ask(10); got != http.StatusOK {
		t.Errorf("after an answer was read: %d", got)
	}
	if got := client.ask(12 << 10); got != http.StatusServiceUnavailable || f.minter.Calls.Load() != 4 {
		t.Errorf("one with a large header: %d; %d ids were minted", got, f.minter.Calls.Load())
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for f.Handler.Memory.Used() > 0 {
		runtime.Gosched()
	}
}

func TestConnectionWithManyRequestsThatAreRefusedIsClosed(t *testing.T) {
	f := newFixture(t, "")
	f.Handler.Memory = budget.New(1)
	near, far := net.Pipe()
	ctx := note(context.Background(), near)
	r := request(http.MethodPost, "/v1/generators/default/ids").WithContext(ctx)
	r.ProtoMajor = 2
	var held []*blocked
	for range maxRefused {
		w := &blocked{ResponseWriter: httptest.NewRecorder(), flushing: make(chan struct{}), read: make(chan struct{})}
		held = append(held, w)
		go f.ServeHTTP(w, r)
		<-w.flushing
	}
	if linkOf(r).refused.Load() != maxRefused {
		t.Fatalf("%d are being refused", linkOf(r).refused.Load())
	}
	f.do(r)
	if _, err := far.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the connection is open: %v", err)
	}
	for _, w := range held {
		close(w.read)
	}
}

// blocked is an answer whose client reads nothing until the channel read is closed.
type blocked struct {
	http.ResponseWriter

	flushing, read chan struct{}
}

func (b *blocked) Flush() {
	close(b.flushing)
	<-b.read
}

func TestAnswersAreDatedByTheSecond(t *testing.T) {
	h := New(Config{})
	start := time.Date(2026, 3, 4, 5, 6, 7, 0, time.FixedZone("", 3600))
	for _, test := range []struct {
		after time.Duration
		want  string
	}{
		{0, "Wed, 04 Mar 2026 04:06:07 GMT"},
		{999 * time.Millisecond, "Wed, 04 Mar 2026 04:06:07 GMT"},
		{time.Second, "Wed, 04 Mar 2026 04:06:08 GMT"},
		{-time.Hour, "Wed, 04 Mar 2026 03:06:07 GMT"}, // the clock was set back
	} {
		if got := h.dateOf(start.Add(test.after)); len(got) != 1 || got[0] != test.want {
			t.Errorf("%v later an answer is dated %q, want %q", test.after, got, test.want)
		}
	}
}
