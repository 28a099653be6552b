package grpcfront

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"snowfence.example/snowfence/api/snowfencev1"
)

// soon is more than a drain without calls takes, and less than other limits.
const soon = time.Minute

// drainsSoon drains the front, and fails the test unless it takes less than soon.
func (f *fixture) drainsSoon(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	if err := f.server.Drain(ctx); err != nil {
		t.Errorf("drain: %v", err)
	}
}

func TestDrainEndsEveryStream(t *testing.T) {
	f := newFixture(t, "")
	idle, idleErr := first(f.ids.Stream(t.Context(), &snowfencev1.StreamRequest{}))
	watch, watchErr := first(grpc_health_v1.NewHealthClient(f.conn).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{}))
	reflect, reflectErr := reflected(t.Context(), f.conn)
	if err := errors.Join(idleErr, watchErr, reflectErr); err != nil {
		t.Fatal(err)
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		f.drainsSoon(t)
	}()
	for name, receive := range map[string]func() error{
		"ids":        func() error { _, err := idle.Recv(); return err },
		"health":     func() error { _, err := watch.Recv(); return err },
		"reflection": func() error { _, err := reflect.Recv(); return err },
	} {
		var err error
		for err == nil {
			err = receive()
		}
		if got := detailsOf(t, err); status.Code(err) != codes.Unavailable || got != (details{"STOPPED", "", time.Second}) {
			t.Errorf("the stream of %s: %v, %+v", name, err, got)
		}
	}
	<-drained
}

func TestDrainDoesNotWaitForClientsThatDoNotRead(t *testing.T) {
	f := newFixture(t, "")
	if _, err := first(snowfencev1.NewIdsClient(f.dial(t)).Stream(t.Context(), &snowfencev1.StreamRequest{Chunk: 10_000})); err != nil {
		t.Fatal(err)
	}
	f.untilStill(t)
	f.drainsSoon(t)
}

// untilStill waits until the streams stop minting, and returns the number of minted ids. Other calls
// must not mint meanwhile.
func (f *fixture) untilStill(t *testing.T) int64 {
	t.Helper()
	before := int64(-1)
	for now := f.minter.Last.Load(); now != before; now = f.minter.Last.Load() {
		before = now
		for range 1000 { // calls take longer than a message of a stream
			if _, err := f.ids.Generators(t.Context(), &snowfencev1.GeneratorsRequest{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return before
}

func TestDrainDoesNotWaitForConnectionsThatSayNothing(t *testing.T) {
	f := newFixture(t, "")
	silent, err := net.Dial("tcp", f.address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	// The server's first frame shows that it has accepted the connection.
	if _, err := io.ReadFull(silent, make([]byte, 9)); err != nil {
		t.Fatal(err)
	}
	f.drainsSoon(t)
}

// callSlow begins a call that waits until the generator is released.
func (f *fixture) callSlow(t *testing.T) <-chan error {
	called := make(chan error, 1)
	go func() {
		answer, err := f.ids.Next(t.Context(), &snowfencev1.NextRequest{Generator: "slow"})
		if err == nil && len(answer.GetTexts()) != 1 {
			err = fmt.Errorf("the answer is %v", answer)
		}
		called <- err
	}()
	<-f.slow.waits
	return called
}

func TestDrainWaitsForCalls(t *testing.T) {
	f := newFixture(t, "")
	called := f.callSlow(t)
	ctx, cancel := context.WithTimeout(t.Context(), 4*settling)
	defer cancel()
	drained := make(chan error, 1)
	go func() { drained <- f.server.Drain(ctx) }()
	<-f.server.draining
	if answer, err := f.ids.Next(t.Context(), &snowfencev1.NextRequest{}); err == nil && len(answer.GetIds()) != 1 {
		t.Errorf("a call while it drains: %v", answer) // it may be in time, or refused
	}
	close(f.slow.release)
	if err := <-called; err != nil {
		t.Errorf("the call: %v", err)
	}
	if err := <-drained; err != nil {
		t.Errorf("drain: %v", err)
	}
}

func TestDrainCutsCallsOffWhenItsContextEnds(t *testing.T) {
	f := newFixture(t, "")
	called := f.callSlow(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*settling)
	defer cancel()
	if err := f.server.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("drain: %v", err)
	}
	if err := <-called; status.Code(err) != codes.Unavailable {
		t.Errorf("the call: %v", err)
	}
}

func TestServeAfterDrainEnds(t *testing.T) {
	f := newFixture(t, "")
	f.drainsSoon(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.server.Serve(l); err != nil {
		t.Errorf("%v", err)
	}
	if _, err := l.Accept(); err == nil {
		t.Error("the listener is still open")
	}
}
