package grpcfront

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"snowfence.example/snowfence/api/snowfencev1"
	"snowfence.example/snowfence/cmd/snowfence/internal/config"
)

func TestConnectionMustBeginInTime(t *testing.T) {
	f := newLimitedFixture(t, "", config.Limits{ReadTimeout: 100 * time.Millisecond})
	for name, sent := range map[string]string{"nothing": "", "half a preface": "PRI * HTTP", "no settings": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"} {
		c, err := net.Dial("tcp", f.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if err := errors.Join(c.SetDeadline(time.Now().Add(soon)), func() error { _, err := io.WriteString(c, sent); return err }()); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, c); isTimeout(err) {
			t.Errorf("%s: the connection is still open", name)
		}
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
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
	f := newFixture(t, "")
	for range maxStreams / maxCalls {
		client := snowfencev1.NewIdsClient(f.dial(t))
		for range maxCalls {
			if _, err := client.Stream(t.Context(), &snowfencev1.StreamRequest{Generator: "slow"}); err != nil {
				t.Fatal(err)
			}
			<-f.slow.waits
		}
	}
	_, err := f.open(t, f.conn, &snowfencev1.StreamRequest{Total: 1})
	if got := detailsOf(t, err); status.Code(err) != codes.ResourceExhausted || got != (details{"RATE_LIMITED", "", time.Second}) {
		t.Errorf("one more: %v, %+v", err, got)
	}
	if _, err := f.ids.Next(t.Context(), &snowfencev1.NextRequest{}); err != nil {
		t.Errorf("another call: %v", err)
	}
}

// TestFirstMessageMustComeInTime opens calls and sends nothing. Until its first message a call keeps memory.
func TestFirstMessageMustComeInTime(t *testing.T) {
	for name, x := range map[string]struct {
		token  string
		limit  time.Duration // for clients with a token, or where none is asked for
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
