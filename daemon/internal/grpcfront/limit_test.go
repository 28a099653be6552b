package grpcfront

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"snowfence.example/snowfence/api/snowfencev1"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/token"
)

func TestConnectionMustBeginInTime(t *testing.T) {
	f := newLimitedFixture(t, "", config.Limits{ReadTimeout: 100 * time.Millisecond})
	for name, sent := range map[string]string{"nothing": "", "half a preface": "PRI * HTTP", "no settings": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"} {
		c, err := net.Dial("tcp", f.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_, err = io.WriteString(c, sent)
		if err = errors.Join(err, c.SetDeadline(time.Now().Add(soon))); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the connection is still open", name)
		}
	}
}

func TestRequestBeyondItsLimitIsRefused(t *testing.T) {
	f := newLimitedFixture(t, "", config.Limits{Body: 1 << 10, Header: 4 << 10})
	if _, err := f.ids.Next(t.Context(), &snowfencev1.NextRequest{Generator: strings.Repeat("a", 2<<10)}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a message: %v", err)
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "long", strings.Repeat("a", 8<<10))
	if _, err := f.ids.Next(ctx, &snowfencev1.NextRequest{}); err == nil {
		t.Error("metadata was not refused")
	}
	if _, err := f.ids.Next(t.Context(), &snowfencev1.NextRequest{}); err != nil {
		t.Errorf("then: %v", err)
	}
}

func TestStreamsAreLimited(t *testing.T) {
	f := newFixture(t, "one "+token.HashOf("of-the-first").String()+"\ntwo "+token.HashOf("of-the-second").String())
	one, two := bearing(t, "Bearer of-the-first"), bearing(t, "Bearer of-the-second")
	for range maxOfOne / maxCalls {
		client := snowfencev1.NewIdsClient(f.dial(t))
		for range maxCalls {
			if _, err := client.Stream(one, &snowfencev1.StreamRequest{Generator: "slow", Chunk: 1}); err != nil {
				t.Fatal(err)
			}
			<-f.slow.waits
		}
	}
	_, err := first(f.ids.Stream(one, &snowfencev1.StreamRequest{Total: 1}))
	if got := detailsOf(t, err); status.Code(err) != codes.ResourceExhausted || got != (details{"RATE_LIMITED", "", time.Second}) {
		t.Errorf("one more: %v, %+v", err, got)
	}
	if _, err := f.ids.Next(one, &snowfencev1.NextRequest{}); err != nil {
		t.Errorf("another call: %v", err)
	}
	if _, err := first(f.ids.Stream(two, &snowfencev1.StreamRequest{Total: 1})); err != nil {
		t.Errorf("another client: %v", err)
	}
}

// silent is a client of HTTP/2 that leaves its answers unread: its window is 0.
func (f *fixture) silent(t *testing.T) (*http2.Framer, func(stream uint32, end bool, payload []byte)) {
	t.Helper()
	c, err := net.Dial("tcp", f.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	framer := http2.NewFramer(c, c)
	_, err = io.WriteString(c, http2.ClientPreface)
	if err = errors.Join(err, framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize})); err != nil {
		t.Fatal(err)
	}
	return framer, func(stream uint32, end bool, payload []byte) {
		var header bytes.Buffer
		encoder := hpack.NewEncoder(&header)
		for _, h := range [][2]string{
			{":method", "POST"}, {":scheme", "http"}, {":path", snowfencev1.Ids_Next_FullMethodName}, {":authority", "localhost"},
			{"content-type", "application/grpc"}, {"te", "trailers"},
		} {
			_ = encoder.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}) // into memory
		}
		err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: header.Bytes(), EndHeaders: true})
		if err = errors.Join(err, framer.WriteData(stream, end, payload)); err != nil {
			t.Error(err)
		}
	}
}

func TestAnswersThatAreNotReadAreBounded(t *testing.T) {
	f := newLimitedFixture(t, "", config.Limits{WriteTimeout: time.Second})
	const left = 1 << 20 // for large answers
	f.memory.Add(fixtureMemory/4*3 - left)
	framer, call := f.silent(t)
	request, err := proto.Marshal(&snowfencev1.NextRequest{Count: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	message := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(request))), request...)
	const calls = 60 // of some 30 KiB each
	for i := range calls {
		call(uint32(2*i+1), true, message)
	}
	refused := 0
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			break // the server leaves a client that reads nothing
		}
		if h, ok := frame.(*http2.HeadersFrame); ok && h.StreamEnded() {
			refused++
		}
	}
	if kept := calls - refused; kept < 10 || kept > left/(28<<10) {
		t.Errorf("%d answers were kept", kept)
	}
	f.memory.Give(fixtureMemory/4*3 - left)
	// They have given their memory back.
	for began := time.Now(); f.memory.Used() > 0; runtime.Gosched() {
		if time.Since(began) > time.Minute {
			t.Fatalf("%d bytes are still taken", f.memory.Used())
		}
	}
	if _, err := f.ids.Next(t.Context(), &snowfencev1.NextRequest{Count: 10_000}); err != nil {
		t.Error(err)
	}
}

func TestFewCallsOfStrangersWaitForTheirMessage(t *testing.T) {
	f := newFixture(t, "0123456789abcdef")
	framer, call := f.silent(t)
	const calls = 2 * maxOfStrangers
	for i := range calls {
		call(uint32(2*i+1), false, []byte{0})
	}
	for ended := 0; ended < calls; {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if h, ok := frame.(*http2.HeadersFrame); ok && h.StreamEnded() {
			if ended++; ended == maxOfStrangers && f.memory.Used() == 0 {
				t.Error("the first calls ended before the calls beyond the limit")
			}
		}
	}
}

func TestCompressedCallIsAnsweredPlain(t *testing.T) {
	f := newLimitedFixture(t, "", config.Limits{Body: 1 << 10})
	answer, err := f.ids.Next(t.Context(), &snowfencev1.NextRequest{Count: 5_000}, grpc.UseCompressor("gzip"))
	if err != nil || len(answer.GetIds()) != 5_000 {
		t.Errorf("%d ids, %v", len(answer.GetIds()), err)
	}
	bomb := &snowfencev1.NextRequest{Generator: strings.Repeat("a", 100<<10)}
	if _, err := f.ids.Next(t.Context(), bomb, grpc.UseCompressor("gzip")); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a message of 100 KiB in some hundred bytes: %v", err)
	}
}

// TestFirstMessageMustComeInTime opens calls and sends nothing. Until its first message a call keeps memory.
func TestFirstMessageMustComeInTime(t *testing.T) {
	for name, x := range map[string]struct {
		token  string
		limit  time.Duration // for clients with a token, or where clients need no token
		method string
	}{
		"unary":                {"", 100 * time.Millisecond, snowfencev1.Ids_Next_FullMethodName},
		"stream":               {"", 100 * time.Millisecond, snowfencev1.Ids_Stream_FullMethodName},
		"watch":                {"", 100 * time.Millisecond, grpc_health_v1.Health_Watch_FullMethodName},
		"unary of a stranger":  {"0123456789abcdef", 10 * time.Minute, snowfencev1.Ids_Next_FullMethodName},
		"health of a stranger": {"0123456789abcdef", 10 * time.Minute, grpc_health_v1.Health_Check_FullMethodName},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newLimitedFixture(t, x.token, config.Limits{ReadTimeout: x.limit})
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			defer cancel()
			silent, err := f.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, x.method)
			if err != nil {
				t.Fatal(err)
			}
			if err := silent.RecvMsg(new(snowfencev1.NextResponse)); status.Code(err) != codes.DeadlineExceeded || ctx.Err() != nil {
				t.Errorf("a call without a message: %v", err)
			}
		})
	}
}

func TestStreamGoesOnBeyondTheTimeOfItsFirstMessage(t *testing.T) {
	f := newLimitedFixture(t, "", config.Limits{ReadTimeout: 100 * time.Millisecond})
	stream, err := f.ids.Stream(t.Context(), &snowfencev1.StreamRequest{Generator: "slow"})
	if err != nil {
		t.Fatal(err)
	}
	<-f.slow.waits
	<-time.After(300 * time.Millisecond)
	select {
	case f.slow.release <- struct{}{}:
	case <-time.After(soon):
	}
	if _, err := stream.Recv(); err != nil {
		t.Errorf("the stream ended: %v", err)
	}
}

func TestConnectionOfWrongTokensAloneEnds(t *testing.T) {
	f := newFixture(t, "Correct-horse-battery")
	next := func(c *grpc.ClientConn, token string) codes.Code {
		_, err := snowfencev1.NewIdsClient(c).Next(bearing(t, "Bearer "+token), &snowfencev1.NextRequest{})
		return status.Code(err)
	}
	guessing, shared := f.dial(t), f.dial(t)
	if got := next(shared, "Correct-horse-battery"); got != codes.OK {
		t.Fatal(got)
	}
	for i := range front.MaxGuesses - 1 {
		for _, c := range []*grpc.ClientConn{guessing, shared} {
			if got := next(c, "wrong"); got != codes.Unauthenticated {
				t.Errorf("wrong token %d: %v", i+1, got)
			}
		}
	}
	if got := next(guessing, "wrong"); got != codes.Unavailable {
		t.Errorf("one more: %v", got)
	}
	if got := next(shared, "wrong"); got != codes.Unauthenticated {
		t.Errorf("one more, of a proxy with other clients: %v", got)
	}
	if got := next(shared, "Correct-horse-battery"); got != codes.OK {
		t.Errorf("another client of the proxy: %v", got)
	}
}
