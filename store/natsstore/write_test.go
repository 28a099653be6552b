package natsstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/store"
)

// TestWriteThatWasCutOffIsNotCarriedOn stops the server until the client can't
// write any more, so that a message is cut off in its middle, and lets it read
// again while the client still has messages to send. If one followed on the same
// connection, the server would take its beginning for the rest of the value that
// was cut off, and acknowledge that: values of line ends make it fit.
func TestWriteThatWasCutOffIsNotCarriedOn(t *testing.T) {
	s, server := opened(t)
	value := bytes.Repeat([]byte("\r\n"), store.MaxValue/2)

	servertest.Swap(t, s, "first", "", "value")
	server.Pause()
	defer server.Resume()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var senders sync.WaitGroup
	for i := range 64 {
		senders.Go(func() {
			for round := 0; ctx.Err() == nil; round++ {
				short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
				// Swap would wait for what it reads first.
				if current, err := s.begin(short); err == nil {
					_, _ = s.publish(short, current, fmt.Sprintf("key-%d-%d", i, round), 0, value)
				}
				cancel()
			}
		})
	}
	// Requests under way fill the buffers; then a write waits for as long as it
	// may, and is given up. Pings give up later.
	first := current(s).conn
	limit := time.NewTimer(connectLimit + 1500*time.Millisecond)
	every := time.NewTicker(20 * time.Millisecond)
	defer every.Stop()
	for waiting := true; waiting && !first.IsClosed(); {
		select {
		case <-every.C:
		case <-limit.C:
			waiting = false
			t.Error("the connection outlives a write that was cut off")
		}
	}
	if err := first.LastError(); errors.Is(err, nats.ErrStaleConnection) {
		t.Errorf("nothing was cut off: %v", err)
	}
	server.Resume()
	for range 10 {
		<-every.C
	}
	cancel()
	senders.Wait()

	var listed int
	for e, err := range open(t, of(server.Addr())).List(t.Context(), "key-") {
		if err != nil {
			t.Fatal(err)
		}
		listed++
		if !bytes.Equal(e.Value, value) {
			t.Errorf("%s holds a value that was never written: %d bytes, such as %.200q", e.Key, len(e.Value), bytes.TrimLeft(e.Value, "\r\n"))
		}
	}
	if listed == 0 {
		t.Error("nothing was written")
	}
}
