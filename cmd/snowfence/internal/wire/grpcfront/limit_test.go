package grpcfront

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
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
