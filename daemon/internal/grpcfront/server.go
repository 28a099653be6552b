package grpcfront

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	grpchealth "google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/api/snowfencev1"
	"snowfence.example/snowfence/daemon/internal/budget"
	"snowfence.example/snowfence/daemon/internal/front"
)

// Config has the parts of the front. All must be given.
type Config struct {
	Service   front.Service   // answers the calls that the front translates
	Meter     front.Meter     // counts calls; each message of a stream is one
	Limits    front.Limits    // of connections and messages, without zeros
	Generator string          // of calls without a generator's name
	Memory    *budget.Budget  // for calls and answers; nil is unbounded
	Clock     snowfence.Clock // times the looks at health
}

// Server is the front. Use [New] to make one. It is safe for concurrent use.
type Server struct {
	config Config
	grpc   *grpc.Server
	health *health
	calls  atomic.Int64 // under way, without streams

	mu      sync.Mutex  // guards streams and of
	streams int         // open
	of      map[any]int // by [front.Client.Who]

	drain        func()
	draining     <-chan struct{}
	whenDraining func(func()) (stop func() bool)
}

const (
	maxCalls       = 100  // under way on one connection, as on the HTTP front; more wait
	maxOfStrangers = 8    // calls that wait for a message of a client without a valid token
	maxStreams     = 1000 // open; one of ids that waits keeps two messages, and 64 KiB that gRPC queues
	maxOfOne       = 300  // streams of one token, or of one address
	readBuffer     = 8 << 10
	settling       = 500 * time.Millisecond // between looks of Drain whether calls are under way still
)

// New returns a front that serves nothing yet.
func New(cfg Config) *Server {
	s := &Server{config: cfg, of: map[any]int{}}
	s.health = &health{grpchealth.NewServer(), cfg.Service, s.client}
	s.health.look()
	draining, drain := context.WithCancel(context.Background())
	s.drain, s.draining = drain, draining.Done()
	s.whenDraining = func(f func()) func() bool { return context.AfterFunc(draining, f) }
	s.grpc = grpc.NewServer(
		grpc.MaxRecvMsgSize(cfg.Limits.Body),
		grpc.MaxHeaderListSize(uint32(cfg.Limits.Header)),
		grpc.MaxConcurrentStreams(maxCalls),
		grpc.ConnectionTimeout(cfg.Limits.ReadTimeout),
		grpc.ReadBufferSize(readBuffer), // of each connection
		grpc.ForceServerCodecV2(newAnswers()),
		grpc.NumStreamWorkers(uint32(runtime.GOMAXPROCS(0))), // their stacks have grown already
		// The server pings a connection that is silent for a minute. Clients may ask the server, too.
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: cfg.Limits.IdleTimeout, Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.InTapHandle(s.open),
		grpc.UnaryInterceptor(s.unary),
		grpc.StreamInterceptor(s.stream),
	)
	snowfencev1.RegisterIdsServer(s.grpc, &ids{Server: s})
	grpc_health_v1.RegisterHealthServer(s.grpc, s.health)
	reflection.Register(s.grpc)
	return s
}

// Serve answers the connections of a listener until Drain, and then returns nil. It may be called once.
func (s *Server) Serve(l net.Listener) error {
	go s.health.poll(s.config.Clock, s.draining)
	err := s.grpc.Serve(connections{l, s.config.Limits.WriteTimeout, s.config.Memory, s.whenDraining})
	if errors.Is(err, grpc.ErrServerStopped) {
		return nil // drained before
	}
	return err
}

// Drain stops accepting connections, ends streams, and waits for the other calls under way. When the
// context ends it cuts them off, and returns the context's error.
func (s *Server) Drain(ctx context.Context) error {
	s.drain()
	s.health.Shutdown()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.grpc.GracefulStop()
	}()
	for quiet := 0; ; {
		var err error
		expired, stop := s.config.Clock.After(settling)
		select {
		case <-expired:
			if quiet++; s.calls.Load() > 0 {
				quiet = 0
			} else if quiet > 1 {
				s.grpc.Stop() // the rest are answers that their clients do not read
			}
			continue
		case <-ctx.Done():
			s.grpc.Stop()
			err = ctx.Err()
		case <-ended:
		}
		stop()
		return err
	}
}
