package grpcfront

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"snowfence.example/snowfence/cmd/snowfence/internal/service"
	"snowfence.example/snowfence/cmd/snowfence/internal/token"
	"snowfence.example/snowfence/cmd/snowfence/internal/wire/listen"
)

// unary makes one call, counts it and translates its error.
func (s *Server) unary(ctx context.Context, request any, _ *grpc.UnaryServerInfo, call grpc.UnaryHandler) (any, error) {
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
		ended <- call(server, stream)
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
func (s *Server) client(ctx context.Context) (client service.Client, err error) {
	if p, ok := peer.FromContext(ctx); ok {
		client = s.config.Service.Client(listen.Host(p.Addr))
	}
	if s.config.Service.Guarded() {
		shown := metadata.ValueFromIncomingContext(ctx, "authorization")
		err = client.Authorize(token.Bearer(strings.Join(shown, ",")))
	}
	return client, err
}
