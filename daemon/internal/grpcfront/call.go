package grpcfront

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // for clients that compress their calls
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/proto"

	"snowfence.example/snowfence/daemon/internal/budget"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/token"
)

const (
	// strangerTime is how long the first message of a client without a valid token may take.
	strangerTime = time.Second

	// refusedTime is how long the first message of a call may take when the memory is used up. Most
	// clients send the message together with the call, and learn why they are refused.
	refusedTime = 50 * time.Millisecond
)

// opening is a call whose first message is awaited, and its context. When the message did not come in time, the call
// ends as by a deadline: its client has not cancelled it.
type opening struct {
	context.Context             //nolint:containedctx // it is a context
	clock           *time.Timer // ends the call if its first message does not come in time
	late            atomic.Bool // it did not
	stop            func() bool // nothing more is given back when the context ends

	client   front.Client
	err      error
	conn     *conn
	memory   *budget.Budget
	bytes    int  // that the call has taken from the memory
	stranger bool // the call counts among the calls of strangers
	released atomic.Bool
}

type openingKey struct{}

// Value returns the opening itself, too.
func (o *opening) Value(key any) any {
	if key == (openingKey{}) {
		return o
	}
	return o.Context.Value(key)
}

func (o *opening) Err() error {
	err := o.Context.Err()
	if err != nil && o.late.Load() {
		return context.DeadlineExceeded
	}
	return err
}

// began notes that the first message is there.
func (o *opening) began() {
	o.stop()
	o.clock.Stop()
}

// release gives the call's memory and its place back, once.
func (o *opening) release() {
	if o.released.Swap(true) {
		return
	}
	o.memory.Give(o.bytes)
	if o.stranger {
		o.conn.strangers.Add(-1)
	}
}

// open looks at the token of a call before gRPC waits for its first message, and gives the message a time:
// until it comes, the call keeps memory. Open refuses nothing itself. gRPC would keep the timer of a refused
// call until the deadline that its client has chosen.
func (s *Server) open(ctx context.Context, call *tap.Info) (context.Context, error) {
	o, limit := &opening{memory: s.config.Memory}, s.config.Limits.ReadTimeout
	if p, ok := peer.FromContext(ctx); ok {
		conn, remote := of(p.Addr)
		front.Complete(remote)
		o.conn, o.client = conn, s.config.Service.Client(front.Host(remote))
	}
	stranger := false
	if s.config.Service.Guarded() {
		shown := strings.Join(call.Header["authorization"], ",")
		probe := shown == "" && call.FullMethodName == grpc_health_v1.Health_Check_FullMethodName
		if !probe { // a probe does not guess tokens
			o.err = o.client.Authorize(token.Bearer(shown))
			o.conn.judge(o.client, o.err == nil)
		}
		if stranger = probe || o.err != nil; stranger {
			limit = min(limit, strangerTime)
		}
	}
	if err := s.admit(o, call, stranger); err != nil {
		o.err, limit = err, refusedTime
	}
	var cancel func()
	o.Context, cancel = context.WithCancel(ctx)
	o.clock = afterwards(limit, func() {
		o.late.Store(true)
		cancel()
	})
	o.stop = context.AfterFunc(o.Context, func() {
		o.clock.Stop()
		o.release()
	})
	return o, nil
}

// admit takes the memory of a call, and its place among the calls of strangers. It returns a
// [*front.Problem] if either is used up.
func (s *Server) admit(o *opening, call *tap.Info, stranger bool) error {
	bytes := perStream
	for name, values := range call.Header {
		bytes += 2 * len(name)
		for _, value := range values {
			bytes += 2 * len(value)
		}
	}
	if stranger = stranger && o.conn != nil; stranger && o.conn.strangers.Add(1) > maxOfStrangers {
		o.conn.strangers.Add(-1)
		return overloaded("more calls without a valid token wait for their message on this connection than it may have")
	}
	if s.config.Memory.Take(bytes) != nil {
		if stranger {
			o.conn.strangers.Add(-1)
		}
		return overloaded(budget.ErrSpent.Error())
	}
	o.bytes, o.stranger = bytes, stranger
	return nil
}

func overloaded(detail string) error {
	p := front.Overloaded.Problem(nil)
	p.Detail = detail
	return p
}

// unary makes one call, counts it and translates its error.
func (s *Server) unary(ctx context.Context, request any, _ *grpc.UnaryServerInfo, call grpc.UnaryHandler) (any, error) {
	o := openingOf(ctx)
	o.began()
	defer o.release()
	plain(ctx)
	s.calls.Add(1)
	defer s.calls.Add(-1)
	began := s.config.Meter.Began()
	answer, err := call(ctx, request)
	s.config.Meter.Answered(began, 1)
	if err != nil {
		return nil, s.fail(err)
	}
	message, _ := answer.(proto.Message) // all of them are
	return outgoing{message, o.conn, false}, nil
}

// plain leaves the answer to a compressed call as it is: the memory of gRPC's compressed answer would
// not be counted.
func plain(ctx context.Context) {
	if of, ok := grpc.ServerTransportStreamFromContext(ctx).(interface{ RecvCompress() string }); ok && of.RecvCompress() != "" {
		_ = grpc.SetSendCompressor(ctx, "identity") // it fails only after the first answer
	}
}

// stream makes one call with a stream, and translates its error. The call may wait for its client, so
// when the front drains, the stream ends under it. It is for clients with a valid token, because it keeps
// memory for as long as its client likes: the token is looked at before the client's first message.
func (s *Server) stream(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, call grpc.StreamHandler) error {
	o := openingOf(stream.Context())
	defer o.release()
	if o.err != nil {
		return s.fail(o.err)
	}
	leave, err := s.enter(o.client.Who())
	if err != nil {
		return s.fail(err)
	}
	defer leave()
	plain(stream.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- call(server, awaited{stream, o})
	}()
	select {
	case err := <-ended:
		return s.fail(err)
	case <-s.draining:
		return s.fail(front.Stopped.Problem(nil))
	}
}

// enter counts a stream. One client has at most a part of all streams.
func (s *Server) enter(who any) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams >= maxStreams || s.of[who] >= maxOfOne {
		busy := front.RateLimited.Problem(nil)
		busy.Detail = fmt.Sprintf("%d streams are open, %d of them of this client: the server may have %d, and one client %d: use Next, or another server",
			s.streams, s.of[who], maxStreams, maxOfOne)
		return nil, busy
	}
	s.streams++
	s.of[who]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.streams--
		if s.of[who]--; s.of[who] == 0 {
			delete(s.of, who)
		}
	}, nil
}

// client returns the client that makes a call. It returns a [*front.Problem] unless the token is valid,
// or clients need no token.
func (s *Server) client(ctx context.Context) (front.Client, error) {
	o := openingOf(ctx)
	return o.client, o.err
}

func openingOf(ctx context.Context) *opening {
	o, _ := ctx.Value(openingKey{}).(*opening) // open has put it there
	return o
}

// awaited is a stream whose first message stops the clock, and whose answers are counted.
type awaited struct {
	grpc.ServerStream
	of *opening
}

func (a awaited) RecvMsg(m any) error {
	err := a.ServerStream.RecvMsg(m)
	a.of.began()
	return err
}

func (a awaited) SendMsg(m any) error {
	message, _ := m.(proto.Message) // all of them are
	return a.ServerStream.SendMsg(outgoing{message, a.of.conn, true})
}
