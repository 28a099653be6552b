package grpcfront

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/tap"

	"snowfence.example/snowfence/cmd/snowfence/internal/service"
	"snowfence.example/snowfence/cmd/snowfence/internal/token"
	"snowfence.example/snowfence/cmd/snowfence/internal/wire/listen"
)

// strangerTime is how long the first message of a client without a valid token may take.
const strangerTime = time.Second

// opening is a call whose first message is awaited.
type opening struct {
	client service.Client
	err    error
	began  func() // stops the clock: the first message is there
}

type openingKey struct{}

// timed is the context of a call. When the first message did not come in time, it ends as by a deadline: its
// client has not cancelled the call.
type timed struct {
	context.Context                 //nolint:containedctx // it is a context
	waiting         context.Context //nolint:containedctx // it ends with the time for the first message
}

func (t timed) Err() error {
	err := t.Context.Err()
	if err != nil && errors.Is(t.waiting.Err(), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err
}

// open looks at the token of a call before gRPC waits for its first message, and gives the message a time:
// until it comes, the call keeps memory. Open refuses nothing itself. gRPC would keep the timer of a refused
// call until the deadline that its client has chosen.
func (s *Server) open(ctx context.Context, call *tap.Info) (context.Context, error) {
	o, limit := &opening{}, s.config.Limits.ReadTimeout
	if p, ok := peer.FromContext(ctx); ok {
		o.client = s.config.Service.Client(listen.Host(p.Addr))
	}
	if s.config.Service.Guarded() {
		shown := strings.Join(call.Header["authorization"], ",")
		probe := shown == "" && call.FullMethodName == grpc_health_v1.Health_Check_FullMethodName
		if !probe { // a probe guesses no token
			o.err = o.client.Authorize(token.Bearer(shown))
		}
		if probe || o.err != nil {
			limit = min(limit, strangerTime)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	waiting, end := context.WithTimeout(ctx, limit)
	stop := context.AfterFunc(waiting, cancel)
	o.began = func() {
		stop()
		end()
	}
	return timed{context.WithValue(ctx, openingKey{}, o), waiting}, nil
}

// unary makes one call, counts it and translates its error.
func (s *Server) unary(ctx context.Context, request any, _ *grpc.UnaryServerInfo, call grpc.UnaryHandler) (any, error) {
	openingOf(ctx).began()
	s.calls.Add(1)
	defer s.calls.Add(-1)
	began := s.config.Meter.Began()
	answer, err := call(ctx, request)
	s.config.Meter.Answered(began, 1)
	return answer, s.fail(err)
}

// stream makes one call with a stream, and translates its error. The call may wait for its client, so
// when the front drains, the stream ends under it. It is for clients with a valid token, because it keeps
// memory for as long as its client likes: the token is looked at before the client's first message.
func (s *Server) stream(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, call grpc.StreamHandler) error {
	if _, err := s.client(stream.Context()); err != nil {
		return s.fail(err)
	}
	defer s.streams.Add(-1)
	if s.streams.Add(1) > maxStreams {
		busy := service.RateLimited.Problem()
		busy.Detail = fmt.Sprintf("%d streams are open, and the server can have no more: use Next, or another server", maxStreams)
		return s.fail(busy)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- call(server, awaited{stream, openingOf(stream.Context()).began})
	}()
	select {
	case err := <-ended:
		return s.fail(err)
	case <-s.draining:
		return s.fail(service.Stopped.Problem())
	}
}

// client returns the client that makes a call. A [*service.Problem] is returned unless its token is
// valid, or none is asked for.
func (s *Server) client(ctx context.Context) (service.Client, error) {
	o := openingOf(ctx)
	return o.client, o.err
}

func openingOf(ctx context.Context) *opening {
	o, _ := ctx.Value(openingKey{}).(*opening) // open has put it there
	return o
}

// awaited is a stream whose first message stops the clock.
type awaited struct {
	grpc.ServerStream
	began func()
}

func (a awaited) RecvMsg(m any) error {
	err := a.ServerStream.RecvMsg(m)
	a.began()
	return err
}
